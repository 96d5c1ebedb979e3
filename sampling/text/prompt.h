#ifndef PRATTLE_SAMPLING_TEXT_PROMPT_H
#define PRATTLE_SAMPLING_TEXT_PROMPT_H
/*
 * From a prompt's text to ids: the begin token, trailing spaces, texts that are continued, contexts
 * that are full.
 */
#include "kvcache/engine.h"
#include "sampling/text/request.h"

struct prompt {
    struct ids ids;
    bool held_space; /* a trailing space was removed: the answer's first token begins with one */
    bool begun;      /* its first id is the begin token, added by g->begin */
};
void prompt_release(struct prompt *p);
/* The begin token, which `begin` adds: bos_token_id or else eos_token_id; TOKEN_NONE: neither is
 * set. */
token_id prompt_begin_token(const struct model *m);
/* ERR_MISSING, with what to do: the model has no tokenizer. */
int prompt_need_tokenizer(const struct model *m);
/* ERR_FORMAT: "the prompt is not UTF-8: byte 3 is e9". */
int prompt_check_utf8(const char *text, size_t n);
/*
 * Encode n bytes and append them to the ids of a prompt. With g->trim, one space at the very end is
 * left out and remembered in held_space, if some token begins with a space: GPT-2 encodes a space
 * with the word after it. Of two spaces the first stays, as within a text. With g->begin an empty
 * prompt first gets the begin token, unless the text begins with it. ERR_MISSING: the model has no
 * tokenizer; ERR_RANGE: no begin token.
 */
int prompt_encode(struct prompt *p, const struct model *m, const struct generate_config *g,
                  const char *text, size_t n);
/*
 * Prepare a prompt that continues a text: *out, empty before, receives what to encode after the ids
 * `before`. A space is inserted where neither side has white space. White space at the end of
 * `before` is removed from the ids and encoded with the prompt, since its tokens depend on what
 * follows. The ids are then those of the whole text encoded at once, if those of `before` were.
 * held_space: the text ended with a space that was left out (struct prompt).
 */
int prompt_join(struct buf *out, struct ids *before, const struct model *m, bool held_space,
                const char *text, size_t n);
/* Set the logits of tokens that do not begin with a space to -infinity: for drawing (and
 * explaining) the first token after a held space. */
void prompt_mask_logits(const struct model *m, float *logits);

/*
 * Make a text one that a model can continue: an empty one gets the begin token; one that fills the
 * context keeps its newest half if on_full is slide (*slid). ERR_FULL: it fills the context, and
 * on_full is stop. ERR_RANGE: an id outside the vocabulary, or no begin token for an empty text.
 */
int prompt_fit(struct ids *text, bool *slid, const struct engine *e,
               const struct generate_config *g);
/* How many of the newest ids remain when a full context slides: half. */
static inline int prompt_slide_length(int n_ctx)
{
    return n_ctx > 1 ? n_ctx / 2 : 1;
}
/* Whether a space at the end of a prompt is left out: trim is on, and some tokens begin with a
 * space. */
bool prompt_holds_space(const struct model *m, const struct generate_config *g);

#endif
