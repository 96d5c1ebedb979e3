#include "weights/foreign/meta_vocab.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/tokenizer/byte_text.h"
#include "weights/torch/pickle.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 16 << 20 };

/* The texts of ids 0 .. n - 1 in signs, each NUL-terminated; at: where each begins, or holes. */
struct characters {
    struct buf signs;
    size_t *at;    /* [n] */
    int n, n_long; /* n_long: of more than one character */
};

static bool is_one_character(const char *text, size_t n)
{
    size_t begins = 0;
    for (size_t i = 0; i < n; i++)
        begins += ((unsigned char)text[i] & 0xc0) != 0x80;
    return begins == 1;
}

static int add_character(struct characters *t, const json_t *itos, int id)
{
    char key[16];
    snprintf(key, sizeof key, "%d", id);
    const json_t *text = json_object_get(itos, key);
    if (!json_is_string(text) || json_string_length(text) == 0)
        return err_set(ERR_FORMAT, "itos has no character %d", id);
    t->n_long += !is_one_character(json_string_value(text), json_string_length(text));
    t->at[id] = t->signs.n;
    int rc = byte_text_encode(&t->signs, json_string_value(text), json_string_length(text));
    return rc == 0 ? buf_char(&t->signs, '\0') : rc;
}

static int make_tokenizer(struct tokenizer **out, const struct characters *t)
{
    const char **tokens = mem_array((size_t)t->n, sizeof *tokens);
    unsigned char *special = mem_alloc((size_t)t->n);
    int rc = tokens == NULL || special == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < t->n && rc == 0; i++)
        tokens[i] = t->signs.data + t->at[i];
    struct vocab v = {.n_tokens = t->n, .tokens = tokens, .special = special, .eos = TOKEN_NONE};
    if (rc == 0)
        rc = tokenizer_new(out, &v);
    mem_free(tokens);
    mem_free(special);
    return rc;
}

static int read_meta(struct tokenizer **out, const json_t *meta, const struct config *c,
                     const struct progress *p)
{
    const json_t *itos = json_object_get(meta, "itos");
    struct characters t = {.n = (int)json_object_size(itos)};
    if (!json_is_object(itos) || t.n == 0)
        return err_set(ERR_FORMAT, "it has no itos: a character for each id");
    if (t.n > c->n_vocab)
        return err_set(ERR_MISMATCH, "it has %d characters, the model has %d tokens", t.n,
                       c->n_vocab);
    t.at = mem_array((size_t)t.n, sizeof *t.at);
    int rc = t.at == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < t.n && rc == 0; i++)
        rc = add_character(&t, itos, i);
    if (rc == 0)
        rc = make_tokenizer(out, &t);
    if (rc == 0 && t.n_long > 0)
        progress_note(p,
                      "meta.pkl: %d of %d tokens %s more than one character: the model can write "
                      "such, but a prompt is read by single characters",
                      t.n_long, t.n, t.n_long == 1 ? "has" : "have");
    mem_free(t.at);
    buf_release(&t.signs);
    return rc;
}

int meta_vocab_open(struct tokenizer **out, const char *folder, const struct config *c,
                    const struct progress *p)
{
    struct buf text = {0};
    json_t *meta = NULL;
    *out = NULL;
    if (!file_exists_in(folder, "meta.pkl"))
        return 0;
    char *path = file_join(folder, "meta.pkl");
    int rc = path == NULL ? ERR_NOMEM : file_read_all(&text, path, MAX_BYTES);
    if (rc == 0 && ((rc = pickle_read_plain(&meta, buf_text(&text), text.n)) != 0 ||
                    (rc = read_meta(out, meta, c, p)) != 0))
        rc = file_wrap(path);
    json_decref(meta);
    buf_release(&text);
    mem_free(path);
    return rc;
}

int meta_vocab_beside(struct tokenizer **out, char **path, const char *file)
{
    const struct config any = {.n_vocab = INT_MAX};
    const char *slash = strrchr(file, '/');
    char *folder = slash == NULL ? mem_strdup(".") : mem_sprintf("%.*s", (int)(slash - file), file);
    int rc = folder == NULL ? ERR_NOMEM : meta_vocab_open(out, folder, &any, NULL);
    *path = NULL;
    if (rc == 0 && *out != NULL &&
        (*path = slash == NULL ? mem_strdup("meta.pkl") : file_join(folder, "meta.pkl")) == NULL) {
        tokenizer_free(*out);
        *out = NULL;
        rc = ERR_NOMEM;
    }
    mem_free(folder);
    if (rc == 0 || rc == ERR_NOMEM)
        return rc;
    err_clear();
    return 0;
}
