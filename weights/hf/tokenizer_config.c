#include "weights/hf/tokenizer_config.h"

#include "model/base/err.h"
#include "model/base/file.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 96 };

static const char NAME[] = "tokenizer_config.json";

/* Why an added token cannot be one of these, or NULL. */
static const char *added_complaint(const struct vocab_draft *d, const char *text, const char *key,
                                   int *id)
{
    char *end;
    const long number = strtol(key, &end, 10);
    if (text == NULL || *text == '\0' || *key < '0' || *key > '9' || *end != '\0')
        return "it is not a text with an id";
    if (number >= d->cap || (d->config != NULL && number >= d->config->n_vocab))
        return "its id is none of the model's";
    *id = (int)number;
    if (d->tokens[number] != NULL)
        return strcmp(d->tokens[number], text) == 0 ? NULL : "its id has another text";
    return vocab_draft_has(d, text) ? "its text has another id" : NULL;
}

/* A member of a type; NULL where it is missing or null, or of another, which is noted. */
static json_t *find_member(const struct vocab_draft *d, const char *name, bool fits(const json_t *),
                           const struct progress *p)
{
    char shown[SHOWN];
    json_t *value = json_object_get(d->roots[2], name);
    if (value == NULL || json_is_null(value))
        return NULL;
    if (fits(value))
        return value;
    progress_note(p, "%s: %s is %s, left out", NAME, name, json_shown(shown, sizeof shown, value));
    return NULL;
}

static bool is_switch(const json_t *value)
{
    return json_is_boolean(value);
}

static bool is_mapping(const json_t *value)
{
    return json_is_object(value);
}

/* add_bos_token, with its bos_token, a text or an added token, where the file has one. A template
 * of tokenizer.json stays in force, as in transformers. */
static void read_bos(struct vocab_draft *d, const struct progress *p)
{
    const json_t *bos = json_object_get(d->roots[2], "bos_token");
    const char *text =
        json_string_value(json_is_object(bos) ? json_object_get(bos, "content") : bos);
    if (!json_is_true(find_member(d, "add_bos_token", is_switch, p)) || d->begin != TOKEN_NONE)
        return;
    d->begins = true;
    for (token_id id = 0; text != NULL && id < d->n && d->begin == TOKEN_NONE; id++)
        if (d->tokens[id] != NULL && strcmp(d->tokens[id], text) == 0)
            d->begin = id;
}

/* {"50257": {"content": "<pad>", ...}, ...}: what cannot be is left out, with a note. Transformers
 * numbers those that tokenizer.json lacks anew, from its last id on; here they have the ids that
 * the file gives. */
static int read_added_decoder(struct vocab_draft *d, const struct progress *p)
{
    json_t *decoder = find_member(d, "added_tokens_decoder", is_mapping, p);
    const char *key, *first = NULL, *why = NULL;
    json_t *token;
    size_t n_out = 0;
    int rc = vocab_draft_reserve(d, json_object_size(decoder));
    json_object_foreach(decoder, key, token)
    {
        int id;
        const char *text = json_string_value(json_object_get(token, "content"));
        const char *complaint = rc != 0 ? NULL : added_complaint(d, text, key, &id);
        if (complaint != NULL) {
            why = n_out == 0 ? complaint : why;
            first = n_out++ == 0 ? key : first;
        } else if (rc == 0) {
            rc = vocab_draft_add(d, text, id);
        }
    }
    char shown[SHOWN];
    if (n_out > 0)
        progress_note(p, "%s: %zu of the added tokens left out, the first with id %s: %s", NAME,
                      n_out, file_show(shown, sizeof shown, first), why);
    return rc;
}

int tokenizer_config_read(struct vocab_draft *d, const char *text, size_t n,
                          const struct progress *p)
{
    int rc = vocab_parse_object(&d->roots[2], NAME, text, n);
    if (rc == ERR_NOMEM)
        return rc;
    if (rc != 0) {
        progress_note(p, "%s: left out", err_text());
        return 0;
    }
    const json_t *prefix = find_member(d, "add_prefix_space", is_switch, p);
    if (prefix != NULL)
        d->add_prefix_space = json_is_true(prefix);
    rc = read_added_decoder(d, p);
    if (rc == 0)
        read_bos(d, p);
    return rc;
}
