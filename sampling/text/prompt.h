#ifndef PRATTLE_SAMPLING_TEXT_PROMPT_H
#define PRATTLE_SAMPLING_TEXT_PROMPT_H
/*
 * What a text goes on from, as generation wants it.
 */
#include "kvcache/engine.h"
#include "sampling/text/request.h"

struct prompt {
    struct ids ids;
    bool held_space; /* a trailing space was taken off: the answer's first token begins with one */
    bool begun;      /* its first id is the begin token, which g->begin put there */
};
void prompt_release(struct prompt *p);
/* What `begin` puts before a text: bos_token_id or eos_token_id; TOKEN_NONE: it has neither. */
token_id prompt_begin_token(const struct model *m);
/*
 * Encode n bytes behind the ids of a prompt, which it begins if there are none. With g->trim, one
 * space at the very end is left off and remembered in held_space, when some token begins with a
 * space: GPT-2 writes the space with the word behind it. Of two spaces the first stays, as within a
 * text. With g->begin the begin token begins the prompt, unless the text has it there itself.
 * ERR_MISSING: the model has no tokenizer; ERR_RANGE: no begin token.
 */
int prompt_encode(struct prompt *p, const struct model *m, const struct generate_config *g,
                  const char *text, size_t n);
/*
 * Before a prompt is encoded behind the text that it goes on from: *out, empty before, is what to
 * encode there. Between them comes a space where neither has white space; and the white space that
 * the text ends in is taken off its ids and encoded with the prompt, since a tokenizer parts it by
 * what follows. The ids are then those of the whole text encoded at once, if the text's were.
 * held_space: one is held behind the text.
 */
int prompt_join(struct buf *out, struct ids *before, const struct model *m, bool held_space,
                const char *text, size_t n);
/* Make the logits of tokens that do not begin with a space -infinity: how the first
 * token after a held space is drawn (and explained). */
void prompt_mask_logits(const struct model *m, float *logits);

/*
 * Make a text something a model can go on from: an empty one begins with the begin
 * token; one longer than the context keeps its newest half when on_full says slide
 * (*slid). ERR_FULL: longer than the context, and it says stop. ERR_RANGE: an id
 * outside the vocabulary, or empty and the model has no begin token.
 */
int prompt_fit(struct ids *text, bool *slid, const struct engine *e,
               const struct generate_config *g);
/* How many of the newest ids a full context keeps. */
static inline int prompt_slide_length(int n_ctx)
{
    return n_ctx > 1 ? n_ctx / 2 : 1;
}
/* Whether a space at the end of a text waits for the word that follows: trim is on, and there are
 * tokens that begin with one. */
bool prompt_holds_space(const struct model *m, const struct generate_config *g);

#endif
