#include "weights/gguf/gguf_keep.h"

#include <string.h>

static bool key_is(const struct gguf_value *v, const char *name)
{
    return v->key.n == strlen(name) && memcmp(v->key.data, name, v->key.n) == 0;
}

/* What is written from the model, or was true of that file alone. */
static bool is_of_model(const struct gguf_value *v)
{
    static const char *const begin[] = {"gpt2.", "prattle.", "split.", "quantize."};
    static const char *const whole[] = {
        "general.architecture",
        "general.name",
        "general.file_type",
        "general.quantization_version",
        "general.alignment",
        "tokenizer.ggml.model",
        "tokenizer.ggml.pre",
        "tokenizer.ggml.tokens",
        "tokenizer.ggml.token_type",
        "tokenizer.ggml.merges",
        "tokenizer.ggml.bos_token_id",
        "tokenizer.ggml.eos_token_id",
        "tokenizer.ggml.padding_token_id",
        "tokenizer.ggml.add_bos_token",
        "tokenizer.ggml.add_space_prefix",
    };
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (v->key.n >= strlen(begin[i]) && memcmp(v->key.data, begin[i], strlen(begin[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (key_is(v, whole[i]))
            return true;
    return false;
}

static int put_number(struct buf *out, uint64_t u, size_t n)
{
    return buf_add(out, (const char *)&u, n); /* little-endian, as everything here */
}

static int put_pair(struct buf *out, const struct gguf_value *v)
{
    int rc = put_number(out, v->key.n, 8);
    if (rc == 0)
        rc = buf_add(out, v->key.data, v->key.n);
    if (rc == 0)
        rc = put_number(out, v->type, 4);
    if (rc == 0 && v->type == GGUF_ARRAY && (rc = put_number(out, v->item, 4)) == 0)
        rc = put_number(out, v->n, 8);
    if (rc == 0 && v->type == GGUF_STRING)
        rc = put_number(out, v->bytes, 8);
    return rc == 0 ? buf_add(out, (const char *)v->data, v->bytes) : rc;
}

static int keep_types(struct source *s, const struct gguf *g)
{
    const unsigned char *types;
    int n;
    const int rc = gguf_ints(g, "tokenizer.ggml.token_type", &types, &n);
    return rc != 0 || n != s->config.n_vocab
               ? rc
               : buf_add(&s->token_types, (const char *)types, sizeof(int32_t) * (size_t)n);
}

int gguf_keep_keys(struct source *s, const struct gguf *g)
{
    int rc = s->tokenizer == NULL ? 0 : keep_types(s, g);
    for (size_t i = 0; i < g->n_values && rc == 0; i++) {
        if (is_of_model(&g->values[i]))
            continue;
        rc = put_pair(&s->keys, &g->values[i]);
        s->n_keys++;
    }
    return rc;
}
