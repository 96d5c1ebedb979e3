#include "sampling/text/prompt.h"

#include "model/base/err.h"
#include "model/base/utf8.h"
#include "model/gpt2_vocab.h"

#include <math.h>
#include <string.h>

void prompt_release(struct prompt *p)
{
    if (p == NULL)
        return;
    ids_release(&p->ids);
    *p = (struct prompt){0};
}

static bool begins_with_space(const struct tokenizer *t, token_id id, size_t least)
{
    size_t n = 0;
    const char *token = tokenizer_bytes(t, id, &n);
    return n >= least && *token == ' ';
}

/* Whether a token begins with a space and has more: in a vocabulary of characters none does. */
static bool has_space_words(const struct tokenizer *t)
{
    for (token_id id = 0; id < tokenizer_size(t); id++)
        if (begins_with_space(t, id, 2))
            return true;
    return false;
}

bool prompt_holds_space(const struct model *m, const struct generate_config *g)
{
    return g->trim && m->tokenizer != NULL && has_space_words(m->tokenizer);
}

token_id prompt_begin_token(const struct model *m)
{
    const struct config *c = &m->config;
    token_id begin = c->bos_token_id != TOKEN_NONE ? c->bos_token_id : c->eos_token_id;
    if (begin == TOKEN_NONE && m->tokenizer != NULL)
        begin = tokenizer_eos(m->tokenizer);
    return begin < c->n_vocab ? begin : TOKEN_NONE;
}

/* Add the begin token to an empty text. */
static int add_begin_token(struct ids *text, const struct model *m, const char *why)
{
    token_id begin = prompt_begin_token(m);
    if (begin < 0)
        return err_set(ERR_RANGE, "%s, and this model has no token that begins a text", why);
    return ids_add(text, &begin, 1);
}

int prompt_need_tokenizer(const struct model *m)
{
    if (m->tokenizer != NULL)
        return 0;
    return gpt2_vocab_is(&m->config)
               ? err_set(ERR_MISSING, "the model has GPT-2's vocabulary and no tokenizer files: "
                                      "put GPT-2's vocab.json and merges.txt, or its "
                                      "tokenizer.json, beside the model, or get gpt2 with `:hub "
                                      "get gpt2`, and load the model again; `prattle generate "
                                      "--ids 1,2,3 --output ids` needs none")
               : err_set(ERR_MISSING,
                         "the model has no tokenizer files (vocab.json and merges.txt, "
                         "or tokenizer.json); `prattle generate --ids 1,2,3 --output "
                         "ids` takes and prints token IDs");
}

int prompt_check_utf8(const char *text, size_t n)
{
    const size_t valid = utf8_valid(text, n);
    return valid == n ? 0
                      : err_set(ERR_FORMAT, "the prompt is not UTF-8: byte %zu is %02x", valid,
                                (unsigned char)text[valid]);
}

int prompt_encode(struct prompt *p, const struct model *m, const struct generate_config *g,
                  const char *text, size_t n)
{
    const struct tokenizer *t = m->tokenizer;
    if (t == NULL)
        return prompt_need_tokenizer(m);
    const bool begin = g->begin && p->ids.n == 0;
    const bool goes_on = p->ids.n > 0 && !tokenizer_is_special(t, p->ids.data[p->ids.n - 1]);
    p->held_space = n > 0 && text[n - 1] == ' ' && prompt_holds_space(m, g);
    int rc = begin ? add_begin_token(&p->ids, m, "begin is on") : 0;
    if (rc == 0)
        rc = tokenizer_encode(t, &p->ids, text, n - p->held_space,
                              (g->special ? ENCODE_SPECIAL : ENCODE_TEXT) |
                                  (goes_on ? ENCODE_GOES_ON : 0));
    p->begun |= begin;
    if (rc == 0 && begin && p->ids.n > 1 && p->ids.data[1] == p->ids.data[0]) {
        memmove(p->ids.data, p->ids.data + 1, --p->ids.n * sizeof *p->ids.data);
        p->begun = false;
    }
    return rc;
}

static bool is_white_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* How many ids at the end are white space only; *word: whether the id before them ends in another
 * character. */
static size_t count_white_ids(const struct tokenizer *t, const struct ids *text, bool *word)
{
    size_t count = 0;
    for (*word = false; count < text->n; count++) {
        const token_id id = text->data[text->n - 1 - count];
        size_t n, white = 0;
        const char *bytes = tokenizer_bytes(t, id, &n);
        if (tokenizer_is_special(t, id) || n == 0)
            return count;
        while (white < n && is_white_space(bytes[n - 1 - white]))
            white++;
        *word = white == 0;
        if (white < n)
            return count;
    }
    return count;
}

int prompt_join(struct buf *out, struct ids *before, const struct model *m, bool held_space,
                const char *text, size_t n)
{
    bool word = false;
    const size_t white = m->tokenizer == NULL ? 0 : count_white_ids(m->tokenizer, before, &word);
    int rc = 0;
    if (white > 0)
        rc = tokenizer_decode(m->tokenizer, out, before->data + before->n - white, white);
    if (rc == 0 && (held_space || (white == 0 && word && (n == 0 || !is_white_space(*text)))))
        rc = buf_char(out, ' ');
    if (rc == 0)
        rc = buf_add(out, text, n);
    if (rc == 0)
        before->n -= white;
    return rc;
}

void prompt_mask_logits(const struct model *m, float *logits)
{
    for (token_id id = 0; id < m->config.n_vocab; id++)
        if (m->tokenizer == NULL || !begins_with_space(m->tokenizer, id, 1))
            logits[id] = -INFINITY;
}

int prompt_fit(struct ids *text, bool *slid, const struct engine *e,
               const struct generate_config *g)
{
    *slid = false;
    int rc = engine_check_ids(e, text->data, text->n);
    if (rc != 0)
        return rc;
    if (text->n == 0)
        return add_begin_token(text, e->model, "the prompt is empty");
    if (kvcache_text_room(&e->cache, text->n) > 0)
        return 0;
    if (g->on_full == ON_FULL_STOP)
        return err_set(ERR_FULL,
                       "the prompt has %zu tokens, the context holds %d: shorten it, or set "
                       "on_full to slide",
                       text->n, e->cache.n_ctx);
    size_t kept = (size_t)prompt_slide_length(e->cache.n_ctx);
    memmove(text->data, text->data + text->n - kept, kept * sizeof *text->data);
    text->n = kept;
    *slid = true;
    return 0;
}
