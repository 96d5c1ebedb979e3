#include "weights/gguf/gguf_write.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/schema.h"
#include "weights/gguf/gguf_table.h"
#include "weights/tensors/names.h"
#include "weights/tensors/tensor_copy.h"

#include <stdio.h>
#include <string.h>

enum { VERSION = 3, TOKEN_NORMAL = 1, TOKEN_CONTROL = 3, TOKEN_UNUSED = 5 };
enum { FILE_TYPE_F32 = 0, FILE_TYPE_F16 = 1, FILE_TYPE_Q8_0 = 7, FILE_TYPE_BF16 = 32 };
enum { QUANTIZATION_VERSION = 2 };

/* A tensor as it will stand in the file. */
struct entry {
    const struct param_tensor *tensor;
    const struct tensor_reader *reader;
    char name[NAMES_BYTES];
    enum dtype dtype;
    uint64_t offset, bytes;
};

struct writer {
    const struct source *source;
    const struct save_config *config;
    const struct progress *progress;
    char *title;     /* owned */
    struct buf keys; /* the key-value pairs */
    uint64_t n_keys;
    struct entry *entries;
    size_t n_entries;
    int rc; /* the first failure of a put */
};

static void put_bytes(struct buf *b, int *rc, const void *bytes, size_t n)
{
    if (*rc == 0)
        *rc = buf_add(b, bytes, n);
}

static void put_u32(struct buf *b, int *rc, uint32_t u)
{
    put_bytes(b, rc, &u, sizeof u);
}

static void put_u64(struct buf *b, int *rc, uint64_t u)
{
    put_bytes(b, rc, &u, sizeof u);
}

static void put_string(struct buf *b, int *rc, const char *s)
{
    size_t n = strlen(s);
    put_u64(b, rc, n);
    put_bytes(b, rc, s, n);
}

static void begin_key(struct writer *w, const char *key, enum gguf_type type)
{
    put_string(&w->keys, &w->rc, key);
    put_u32(&w->keys, &w->rc, (uint32_t)type);
    w->n_keys++;
}

static void key_u32(struct writer *w, const char *key, int value)
{
    begin_key(w, key, GGUF_U32);
    put_u32(&w->keys, &w->rc, (uint32_t)value);
}

static void key_f32(struct writer *w, const char *key, float value)
{
    begin_key(w, key, GGUF_F32);
    put_bytes(&w->keys, &w->rc, &value, sizeof value);
}

static void key_bool(struct writer *w, const char *key, bool value)
{
    begin_key(w, key, GGUF_BOOL);
    put_bytes(&w->keys, &w->rc, &(unsigned char){value}, 1);
}

static void key_string(struct writer *w, const char *key, const char *value)
{
    begin_key(w, key, GGUF_STRING);
    put_string(&w->keys, &w->rc, value);
}

static void begin_array(struct writer *w, const char *key, enum gguf_type item, size_t n)
{
    begin_key(w, key, GGUF_ARRAY);
    put_u32(&w->keys, &w->rc, (uint32_t)item);
    put_u64(&w->keys, &w->rc, n);
}

/* What GGUF has no keys for, where it differs from GPT-2's default. */
static void put_own_keys(struct writer *w)
{
    const struct config *c = &w->source->config;
    struct config usual;
    config_init(&usual);
    if (c->activation != usual.activation)
        key_string(w, "prattle.activation", activation_name(c->activation));
    if (c->scale_attn_weights != usual.scale_attn_weights)
        key_bool(w, "prattle.scale_attn_weights", c->scale_attn_weights);
    if (c->scale_attn_by_inverse_layer_idx != usual.scale_attn_by_inverse_layer_idx)
        key_bool(w, "prattle.scale_attn_by_inverse_layer_idx", c->scale_attn_by_inverse_layer_idx);
    if (c->reorder_and_upcast_attn != usual.reorder_and_upcast_attn)
        key_bool(w, "prattle.reorder_and_upcast_attn", c->reorder_and_upcast_attn);
    if (c->initializer_range != usual.initializer_range)
        key_f32(w, "prattle.initializer_range", c->initializer_range);
    if (c->embd_pdrop != usual.embd_pdrop)
        key_f32(w, "prattle.embd_pdrop", c->embd_pdrop);
    if (c->attn_pdrop != usual.attn_pdrop)
        key_f32(w, "prattle.attn_pdrop", c->attn_pdrop);
    if (c->resid_pdrop != usual.resid_pdrop)
        key_f32(w, "prattle.resid_pdrop", c->resid_pdrop);
    if (w->source->defaults != NULL)
        key_string(w, "prattle.defaults", w->source->defaults);
}

static void note_unsaid_config(const struct writer *w)
{
    const struct config *c = &w->source->config;
    char activation[32];
    snprintf(activation, sizeof activation, "the %s", activation_title(c->activation));
    const struct {
        bool is;
        const char *what;
    } all[] = {{c->activation != ACTIVATION_GELU_TANH, activation},
               {c->scale_attn_by_inverse_layer_idx, "attention scaled by the layer"},
               {!c->scale_attn_weights, "attention without scaling"}};
    char list[96] = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].is)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? " nor " : "",
                                  all[i].what);
    if (n > 0)
        progress_note(w->progress,
                      "GGUF cannot say %s: it is kept in prattle.* keys, other programs will "
                      "compute something else",
                      list);
}

static void put_config(struct writer *w)
{
    const struct config *c = &w->source->config;
    key_string(w, "general.architecture", "gpt2");
    key_string(w, "general.name", w->title);
    enum dtype d = w->entries[0].dtype; /* the embedding's */
    key_u32(w, "general.file_type",
            d == DTYPE_F32   ? FILE_TYPE_F32
            : d == DTYPE_F16 ? FILE_TYPE_F16
            : d == DTYPE_Q8  ? FILE_TYPE_Q8_0
                             : FILE_TYPE_BF16);
    if (d == DTYPE_Q8)
        key_u32(w, "general.quantization_version", QUANTIZATION_VERSION);
    key_u32(w, "gpt2.vocab_size", c->n_vocab);
    key_u32(w, "gpt2.block_count", c->n_layer);
    key_u32(w, "gpt2.context_length", c->n_ctx);
    key_u32(w, "gpt2.embedding_length", c->n_embd);
    key_u32(w, "gpt2.feed_forward_length", c->n_inner);
    key_u32(w, "gpt2.attention.head_count", c->n_head);
    key_f32(w, "gpt2.attention.layer_norm_epsilon", c->layer_norm_epsilon);
    put_own_keys(w);
}

/* A merged adapter's model is another than that of the file. */
static bool keeps_keys(const struct writer *w)
{
    return w->source->base == NULL;
}

/* Other programs expect a text for each row of the embedding: ids without one are written as [PADn]
 * with the type TOKEN_UNUSED, by which the reader recognizes them. */
static void put_tokens(struct writer *w, const struct tokenizer *t, int n)
{
    char hole[32];
    begin_array(w, "tokenizer.ggml.tokens", GGUF_STRING, (size_t)n);
    for (int i = 0; i < n; i++) {
        const char *text = tokenizer_text(t, i);
        snprintf(hole, sizeof hole, "[PAD%d]", i);
        put_string(&w->keys, &w->rc, text == NULL ? hole : text);
    }
    begin_array(w, "tokenizer.ggml.token_type", GGUF_I32, (size_t)n);
    const struct buf *kept = &w->source->token_types;
    if (keeps_keys(w) && kept->n == sizeof(int32_t) * (size_t)n) {
        put_bytes(&w->keys, &w->rc, kept->data, kept->n);
        return;
    }
    for (int i = 0; i < n; i++)
        put_u32(&w->keys, &w->rc,
                tokenizer_text(t, i) == NULL ? TOKEN_UNUSED
                : tokenizer_is_special(t, i) ? TOKEN_CONTROL
                                             : TOKEN_NORMAL);
}

static void put_tokenizer(struct writer *w)
{
    const struct config *c = &w->source->config;
    const struct tokenizer *t = w->source->tokenizer;
    if (t == NULL) {
        key_string(w, "tokenizer.ggml.model", "none");
    } else {
        key_string(w, "tokenizer.ggml.model", "gpt2");
        key_string(w, "tokenizer.ggml.pre", "gpt-2");
        put_tokens(w, t, c->n_vocab);
        if (tokenizer_adds_prefix_space(t))
            key_bool(w, "tokenizer.ggml.add_space_prefix", true);
        begin_array(w, "tokenizer.ggml.merges", GGUF_STRING, (size_t)tokenizer_merges(t));
        for (int i = 0; i < tokenizer_merges(t); i++)
            put_string(&w->keys, &w->rc, tokenizer_merge(t, i));
    }
    const token_id begin = source_begin_token(w->source);
    if (begin != TOKEN_NONE || c->bos_token_id != TOKEN_NONE)
        key_u32(w, "tokenizer.ggml.bos_token_id", begin != TOKEN_NONE ? begin : c->bos_token_id);
    if (begin != TOKEN_NONE)
        key_bool(w, "tokenizer.ggml.add_bos_token", true);
    if (c->eos_token_id != TOKEN_NONE)
        key_u32(w, "tokenizer.ggml.eos_token_id", c->eos_token_id);
    if (c->pad_token_id != TOKEN_NONE)
        key_u32(w, "tokenizer.ggml.padding_token_id", c->pad_token_id);
}

/* List the tensors of type d that are written as F32, so that the reader restores their 16 bits. */
static void put_half_exact(struct writer *w, const char *key, enum dtype d)
{
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1 && n == 0)
            return;
        if (pass == 1)
            begin_array(w, key, GGUF_STRING, n);
        for (size_t i = 0; i < w->n_entries; i++) {
            const struct entry *e = &w->entries[i];
            bool kept = !w->config->convert || w->config->dtype == d;
            if (!kept || e->reader->dtype != d || e->dtype != DTYPE_F32 ||
                (e->tensor->kind != PARAM_VECTOR && e->tensor->kind != PARAM_ROWS))
                continue;
            n += pass == 0;
            if (pass == 1)
                put_string(&w->keys, &w->rc, e->name);
        }
    }
}

static uint64_t align_offset(uint64_t n)
{
    return (n + GGUF_DEFAULT_ALIGNMENT - 1) / GGUF_DEFAULT_ALIGNMENT * GGUF_DEFAULT_ALIGNMENT;
}

/* llama.cpp reads vectors and position embeddings only in F32. */
static enum dtype dtype_in_file(const struct writer *w, const struct param_tensor *t,
                                const struct tensor_reader *r)
{
    if (t->kind == PARAM_VECTOR || t->kind == PARAM_ROWS)
        return DTYPE_F32;
    if (w->config->convert)
        return tensor_dtype(t, w->config->dtype);
    return r->read_q8 != NULL ? DTYPE_Q8 : r->dtype;
}

static int plan_entries(struct writer *w)
{
    const struct source *s = w->source;
    const struct params *table = &s->table;
    if ((w->entries = mem_array((size_t)table->n_tensors + 1, sizeof *w->entries)) == NULL)
        return ERR_NOMEM;
    bool twice = w->config->compat && s->config.tie_word_embeddings;
    const struct param_tensor *wte = params_find(table, SCHEMA_EMBEDDING);
    for (int i = 0; i < table->n_tensors + (int)twice; i++) {
        bool again = i == table->n_tensors;
        const struct param_tensor *t = again ? wte : &table->tensors[i];
        struct entry *e = &w->entries[w->n_entries++];
        e->tensor = t;
        e->reader = &s->readers[t - table->tensors];
        names_gguf(e->name, sizeof e->name, again ? SCHEMA_HEAD : t->name);
        e->dtype = dtype_in_file(w, t, e->reader);
        e->bytes = tensor_bytes(t, e->dtype);
        e->offset = i == 0 ? 0 : align_offset(e[-1].offset + e[-1].bytes);
    }
    return 0;
}

static void put_entry(struct buf *b, int *rc, const struct entry *e)
{
    const struct param_tensor *t = e->tensor;
    bool turned = t->kind == PARAM_CONV1D;
    put_string(b, rc, e->name);
    put_u32(b, rc, t->kind == PARAM_VECTOR ? 1 : 2);
    put_u64(b, rc, (uint64_t)(turned ? t->rows : t->cols));
    if (t->kind != PARAM_VECTOR)
        put_u64(b, rc, (uint64_t)(turned ? t->cols : t->rows));
    put_u32(b, rc,
            e->dtype == DTYPE_F32   ? GGML_F32
            : e->dtype == DTYPE_F16 ? GGML_F16
            : e->dtype == DTYPE_Q8  ? GGML_Q8_0
                                    : GGML_BF16);
    put_u64(b, rc, e->offset);
}

/* Matrices that were to be Q8_0 and cannot. */
static void note_uneven(const struct writer *w)
{
    const struct entry *first = NULL;
    int n = 0;
    for (size_t i = w->n_entries; i-- > 0 && w->config->convert && w->config->dtype == DTYPE_Q8;)
        if (w->entries[i].dtype == DTYPE_F16) {
            first = &w->entries[i];
            n++;
        }
    if (n > 0)
        progress_note(w->progress,
                      "%d matri%s written as F16, the first %s: Q8_0 needs a multiple of %d inputs",
                      n, n == 1 ? "x is" : "ces are", first->name, Q8_BLOCK);
}

static int write_head(struct writer *w, struct file_writer *f)
{
    struct buf b = {0};
    put_config(w);
    put_tokenizer(w);
    if (keeps_keys(w)) {
        put_bytes(&w->keys, &w->rc, w->source->keys.data, w->source->keys.n);
        w->n_keys += w->source->n_keys;
    }
    put_half_exact(w, "prattle.narrow.f16", DTYPE_F16);
    put_half_exact(w, "prattle.narrow.bf16", DTYPE_BF16);
    int rc = w->rc;
    put_bytes(&b, &rc, "GGUF", 4);
    put_u32(&b, &rc, VERSION);
    put_u64(&b, &rc, w->n_entries);
    put_u64(&b, &rc, w->n_keys);
    put_bytes(&b, &rc, w->keys.data, w->keys.n);
    for (size_t i = 0; i < w->n_entries; i++)
        put_entry(&b, &rc, &w->entries[i]);
    if (rc == 0)
        rc = file_write(f, b.data, b.n);
    buf_release(&b);
    return rc;
}

static int write_padding(struct file_writer *f)
{
    static const char zeros[GGUF_DEFAULT_ALIGNMENT];
    return file_write(f, zeros, (size_t)(align_offset(f->at) - f->at));
}

static int write_tensors(struct writer *w, struct file_writer *f)
{
    const struct entry *last = &w->entries[w->n_entries - 1];
    struct tensor_copy copy = {
        .to = f, .progress = w->progress, .total = last->offset + last->bytes};
    int rc = write_padding(f);
    for (size_t i = 0; i < w->n_entries && rc == 0; i++) {
        const struct entry *e = &w->entries[i];
        if ((rc = tensor_copy_write(&copy, e->tensor, e->reader, e->dtype, true)) == 0)
            rc = write_padding(f);
    }
    if (rc == 0)
        tensor_copy_warn(&copy, w->config->convert ? w->config->dtype : DTYPE_F16);
    tensor_copy_release(&copy);
    return rc;
}

int source_save_gguf(struct source *s, const char *path, const struct save_config *c,
                     const struct progress *p)
{
    struct writer w = {.source = s, .config = c, .progress = p};
    struct file_writer f;
    int rc = file_create(&f, path, c->force);
    if (rc != 0)
        return rc;
    /* With an adapter it is another model than its base. */
    w.title = s->base != NULL || s->name == NULL ? gguf_file_title(path) : mem_strdup(s->name);
    rc = w.title == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && (rc = plan_entries(&w)) == 0 && (rc = write_head(&w, &f)) == 0 &&
        (rc = write_tensors(&w, &f)) == 0) {
        note_unsaid_config(&w);
        note_uneven(&w);
        rc = file_commit(&f);
    }
    file_abandon(&f);
    mem_free(w.entries);
    mem_free(w.title);
    buf_release(&w.keys);
    return rc;
}
