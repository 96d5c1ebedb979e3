#include "weights/hf/vocab_draft.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <limits.h>
#include <string.h>

enum { SHOWN = 96 };

void vocab_draft_release(struct vocab_draft *d)
{
    mem_free(d->tokens);
    mem_free(d->special);
    mem_free(d->merges);
    buf_release(&d->lines);
    for (size_t i = 0; i < sizeof d->roots / sizeof *d->roots; i++)
        json_decref(d->roots[i]);
    json_decref(d->added);
}

void vocab_skip_bom(const char **text, size_t *n)
{
    if (*n >= 3 && memcmp(*text, "\xef\xbb\xbf", 3) == 0) {
        *text += 3;
        *n -= 3;
    }
}

int vocab_parse_object(json_t **out, const char *file, const char *text, size_t n)
{
    vocab_skip_bom(&text, &n);
    /* transformers writes a model_max_length of 10^30. */
    int rc = json_read_any_numbers(out, text, n);
    if (rc != 0)
        return rc == ERR_NOMEM ? rc : err_set(rc, "%s is %s", file, err_text());
    if (!json_is_object(*out))
        return err_set(ERR_FORMAT, "%s is not a JSON object", file);
    return 0;
}

int vocab_draft_reserve(struct vocab_draft *d, size_t more)
{
    if (more > INT_MAX / 4)
        return err_set(ERR_RANGE, "the tokenizer has %zu tokens, at most %d", more, INT_MAX / 4);
    int cap = d->cap + 2 * (int)more + 1024;
    /* A vocabulary with more holes than tokens is legal where the model has the room. */
    if (d->config != NULL && cap < d->config->n_vocab)
        cap = d->config->n_vocab;
    const char **tokens =
        mem_grow(d->tokens, (size_t)d->cap * sizeof *tokens, (size_t)cap * sizeof *tokens);
    if (tokens == NULL)
        return ERR_NOMEM;
    d->tokens = tokens;
    unsigned char *special = mem_grow(d->special, (size_t)d->cap, (size_t)cap);
    if (special == NULL)
        return ERR_NOMEM;
    d->special = special;
    d->cap = cap;
    return 0;
}

int vocab_draft_add(struct vocab_draft *d, const char *text, int id)
{
    if (d->added == NULL && (d->added = json_object()) == NULL)
        return ERR_NOMEM;
    if (json_object_set_new(d->added, text, json_true()) != 0)
        return err_set(ERR_NOMEM, "no memory for the added tokens");
    d->tokens[id] = text;
    d->special[id] = true;
    if (id >= d->n)
        d->n = id + 1;
    return 0;
}

/* The error of a token that vocab_draft_put refuses. */
static int refuse_token(const struct vocab_draft *d, const char *text, const json_t *id_value)
{
    char shown[SHOWN], other[SHOWN];
    const long long id = json_integer_value(id_value);
    file_show(shown, sizeof shown, text);
    if (!json_is_integer(id_value))
        return err_set(ERR_FORMAT, "the id of token \"%s\" is not a whole number", shown);
    if (id < 0 || id >= d->cap)
        return err_set(ERR_FORMAT, "token \"%s\" has id %lld, out of the range 0..%d", shown, id,
                       d->cap - 1);
    if (d->config != NULL && id >= d->config->n_vocab)
        return err_set(ERR_MISMATCH,
                       "token \"%s\" has id %lld, but the model has only %d tokens: the "
                       "tokenizer belongs to another model",
                       shown, id, d->config->n_vocab);
    return err_set(ERR_FORMAT, "tokens \"%s\" and \"%s\" both have id %lld",
                   file_show(other, sizeof other, d->tokens[id]), shown, id);
}

int vocab_draft_put(struct vocab_draft *d, const char *text, const json_t *id_value, bool special)
{
    const json_int_t id = json_is_integer(id_value) ? json_integer_value(id_value) : -1;
    if (id < 0 || id >= d->cap || (d->config != NULL && id >= d->config->n_vocab) ||
        (d->tokens[id] != NULL && strcmp(d->tokens[id], text) != 0))
        return refuse_token(d, text, id_value);
    if (special)
        return vocab_draft_add(d, text, (int)id);
    d->tokens[id] = text;
    if (id >= d->n)
        d->n = (int)id + 1;
    return 0;
}

bool vocab_draft_has(const struct vocab_draft *d, const char *text)
{
    return json_object_get(d->vocab, text) != NULL || json_object_get(d->added, text) != NULL;
}
