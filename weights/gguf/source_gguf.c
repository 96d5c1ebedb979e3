#include "weights/gguf/source_gguf.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/schema.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_config.h"
#include "weights/gguf/gguf_keep.h"
#include "weights/gguf/gguf_vocab.h"
#include "weights/tensors/names.h"
#include "weights/tensors/half_exact.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { READ_PART = 4096, READ_BYTES = 16384 };

/* Where a tensor of the table is in the file. */
struct stored_tensor {
    const struct file *file;
    uint64_t at;
    const struct block_format *format;
    enum dtype dtype; /* not the format's for tensors listed in prattle.narrow.* */
    char name[NAMES_BYTES];
};

struct state {
    struct gguf gguf;
    struct stored_tensor *places; /* [table.n_tensors] */
};

static void close_state(void *format)
{
    struct state *st = format;
    gguf_close(&st->gguf);
    mem_free(st->places);
    mem_free(st);
}

/* Blocks first .. first + n - 1 as they are; a block is an element if it is not quantized. */
static int read_blocks(const struct stored_tensor *p, void *dst, uint64_t first, size_t n)
{
    size_t each = (size_t)p->format->bytes;
    return file_read_at(p->file, dst, p->at + first * each, n * each);
}

static int read_stored(void *user, void *dst, uint64_t first, size_t n)
{
    return read_blocks(user, dst, first, n);
}

static int read_q8(void *user, struct q8_block *dst, uint64_t first, size_t n)
{
    return read_blocks(user, dst, first, n);
}

/* Elements skip .. skip + n - 1 of one block. */
static int read_block_part(const struct stored_tensor *p, float *out, uint64_t block, size_t skip,
                           size_t n)
{
    unsigned char raw[BLOCK_MAX_BYTES];
    float whole[BLOCK_MAX_ELEMENTS];
    int rc = read_blocks(p, raw, block, 1);
    if (rc != 0)
        return rc;
    p->format->dequantize(whole, raw);
    memcpy(out, whole + skip, n * sizeof *out);
    return 0;
}

/* As many whole blocks of a quantized tensor at a time as fit, and parts of the first and last. */
static int read_quantized(void *user, void *dst, uint64_t first, size_t n)
{
    const struct stored_tensor *p = user;
    const struct block_format *f = p->format;
    const size_t each = (size_t)f->elements, fit = READ_BYTES / (size_t)f->bytes;
    unsigned char raw[READ_BYTES];
    float *out = dst;
    int rc = 0;
    for (size_t done = 0, count; done < n && rc == 0; done += count) {
        const uint64_t block = (first + done) / each;
        const size_t skip = (size_t)((first + done) % each), left = n - done;
        if (skip > 0 || left < each) {
            count = left < each - skip ? left : each - skip;
            rc = read_block_part(p, out + done, block, skip, count);
            continue;
        }
        const size_t blocks = left / each < fit ? left / each : fit;
        count = blocks * each;
        rc = read_blocks(p, raw, block, blocks);
        for (size_t i = 0; i < blocks && rc == 0; i++)
            f->dequantize(out + done + i * each, raw + i * (size_t)f->bytes);
    }
    return rc;
}

/* Restore the 16 bits of a vector that was widened when the file was written. */
static int read_half_exact(void *user, void *dst, uint64_t first, size_t n)
{
    const struct stored_tensor *p = user;
    float part[READ_PART];
    uint16_t *out = dst;
    for (size_t done = 0; done < n;) {
        size_t count = n - done < READ_PART ? n - done : READ_PART;
        int rc = read_stored(user, part, first + done, count);
        if (rc != 0)
            return rc;
        for (size_t i = 0; i < count; i++)
            if (!half_exact_from_f32(&out[done + i], part[i], p->dtype))
                return err_set(ERR_FORMAT,
                               "tensor %s: element %" PRIu64 " is no %s value, though "
                               "prattle.narrow says that all are",
                               p->name, first + done + i, dtype_name(p->dtype));
        done += count;
    }
    return 0;
}

/* The dimensions of tensor t in GGUF. Returns how many. */
static int expected_dims(const struct param_tensor *t, uint64_t dims[2])
{
    bool transposed = t->kind == PARAM_CONV1D; /* [in,out] in the table, [out,in] here */
    dims[0] = (uint64_t)(transposed ? t->rows : t->cols);
    dims[1] = (uint64_t)(transposed ? t->cols : t->rows);
    return t->kind == PARAM_VECTOR ? 1 : 2;
}

static int check_shape(const struct gguf_tensor *found, const struct param_tensor *t)
{
    uint64_t dims[2];
    int n = expected_dims(t, dims);
    if (found->dims[0] == dims[0] && found->dims[1] == dims[1] && found->dims[2] == 1 &&
        found->dims[3] == 1)
        return 0;
    char have[96] = "", want[64] = "";
    size_t at = 0;
    for (int i = found->n_dims - 1; i >= 0; i--)
        at += (size_t)snprintf(have + at, sizeof have - at, "%" PRIu64 "%s", found->dims[i],
                               i > 0 ? "," : "");
    snprintf(want, sizeof want, n == 1 ? "%" PRIu64 : "%2$" PRIu64 ",%1$" PRIu64, dims[0], dims[1]);
    return err_set(ERR_FORMAT, "tensor %.*s: shape [%s], expected [%s]", (int)found->name.n,
                   found->name.data, have, want);
}

/* A parameter of the table in the file; NULL: it is not there. */
static const struct gguf_tensor *find_stored(const struct gguf *g, const char *plain)
{
    char name[NAMES_BYTES];
    names_gguf(name, sizeof name, plain);
    return gguf_find_tensor(g, name);
}

/* *same: there is no output head, or it equals the token embedding bit for bit. */
static int compare_heads(bool *same, const struct gguf *g)
{
    const struct gguf_tensor *a = find_stored(g, SCHEMA_EMBEDDING);
    const struct gguf_tensor *b = find_stored(g, SCHEMA_HEAD);
    *same = b == NULL;
    if (a == NULL || b == NULL || a->format != b->format || a->bytes != b->bytes)
        return 0;
    return file_compare(same, &g->file, a->at, &g->file, b->at, a->bytes);
}

/* Mark the tensors listed under key, which had type dtype before the file was written. */
static int mark_half_exact(struct source *s, const struct gguf *g, const char *key,
                           enum dtype dtype)
{
    const char **names;
    int n;
    int rc = gguf_texts(g, key, &names, &n);
    struct state *st = s->format;
    if (rc == 0 && n > s->table.n_tensors)
        rc = err_set(ERR_FORMAT, "key %s lists %d tensors, more than there are", key, n);
    for (int i = 0; i < n && rc == 0; i++) {
        int k = 0;
        while (k < s->table.n_tensors && strcmp(st->places[k].name, names[i]) != 0)
            k++;
        if (k == s->table.n_tensors || st->places[k].format != block_format_of(GGML_F32)) {
            char shown[80];
            rc = err_set(ERR_FORMAT, "key %s lists %s, which is no F32 tensor here", key,
                         file_show(shown, sizeof shown, names[i]));
            break;
        }
        st->places[k].dtype = s->readers[k].dtype = dtype;
        s->readers[k].read = read_half_exact;
    }
    mem_free(names);
    return rc;
}

/* No tensor but those of the table, and the output head where it is tied. */
static int check_extra_tensors(const struct source *s, const struct gguf *g)
{
    const struct gguf_tensor *head = find_stored(g, SCHEMA_HEAD);
    size_t known = (size_t)s->table.n_tensors + (s->config.tie_word_embeddings && head != NULL);
    if (g->n_tensors == known)
        return 0;
    const struct state *st = s->format;
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct gguf_string name = g->tensors[i].name;
        bool found = &g->tensors[i] == head;
        for (int k = 0; k < s->table.n_tensors && !found; k++)
            found = strlen(st->places[k].name) == name.n &&
                    memcmp(st->places[k].name, name.data, name.n) == 0;
        char shown[GGUF_SHOWN];
        if (!found)
            return err_set(ERR_FORMAT, "tensor %s is none of a GPT-2 with %d layers",
                           gguf_show(shown, name), s->config.n_layer);
    }
    return 0;
}

static int find_tensors(struct source *s, const struct gguf *g)
{
    struct state *st = s->format;
    size_t n = (size_t)s->table.n_tensors;
    if ((st->places = mem_array(n, sizeof *st->places)) == NULL ||
        (s->readers = mem_array(n, sizeof *s->readers)) == NULL)
        return ERR_NOMEM;
    bool first = true;
    for (size_t i = 0; i < n; i++) {
        const struct param_tensor *t = &s->table.tensors[i];
        struct stored_tensor *place = &st->places[i];
        names_gguf(place->name, sizeof place->name, t->name);
        const struct gguf_tensor *found = gguf_find_tensor(g, place->name);
        if (found == NULL)
            return err_set(ERR_MISSING, "tensor %s is missing", place->name);
        int rc = check_shape(found, t);
        if (rc != 0)
            return rc;
        place->file = &g->file;
        place->at = found->at;
        place->format = found->format;
        place->dtype = found->format->dtype;
        const bool quantized = found->format->dequantize != NULL;
        const bool q8 = found->format == block_format_of(GGML_Q8_0) &&
                        (t->kind == PARAM_CONV1D || t->kind == PARAM_EMBEDDING);
        s->readers[i] = (struct tensor_reader){.read = quantized ? read_quantized : read_stored,
                                               .user = place,
                                               .dtype = place->dtype,
                                               .out_major = t->kind == PARAM_CONV1D,
                                               .stored = quantized ? found->format->name : NULL,
                                               .read_q8 = q8 ? read_q8 : NULL};
        if (first && (t->kind == PARAM_CONV1D || t->kind == PARAM_EMBEDDING)) {
            s->dtype = place->dtype;
            first = false;
        }
    }
    return 0;
}

static int read_tensors(struct source *s, const struct gguf *g)
{
    int rc = compare_heads(&s->config.tie_word_embeddings, g);
    if (rc == 0)
        rc = config_check(&s->config);
    /* The table must not be sized by a block count that the file cannot have. */
    if (rc == 0 && (uint64_t)s->config.n_layer > g->n_tensors)
        rc = err_set(ERR_FORMAT, "gpt2.block_count is %d, the file has %zu tensors",
                     s->config.n_layer, g->n_tensors);
    if (rc == 0)
        rc = params_describe(&s->table, &s->config);
    if (rc == 0)
        rc = find_tensors(s, g);
    if (rc == 0)
        rc = check_extra_tensors(s, g);
    if (rc == 0)
        rc = mark_half_exact(s, g, "prattle.narrow.f16", DTYPE_F16);
    return rc == 0 ? mark_half_exact(s, g, "prattle.narrow.bf16", DTYPE_BF16) : rc;
}

static int read_model_name(struct source *s, const struct gguf *g, const char *path)
{
    int rc = gguf_text(g, "general.name", false, &s->name);
    if (rc != 0 || (s->name != NULL && s->name[0] != '\0'))
        return rc;
    mem_free(s->name);
    return (s->name = gguf_file_title(path)) == NULL ? ERR_NOMEM : 0;
}

static int read_source(struct source *s, const char *path, bool need_weights,
                       const struct progress *p)
{
    const struct gguf *g = &((struct state *)s->format)->gguf;
    int rc = gguf_check_text(g, "general.architecture", true, "gpt2");
    if (rc == 0)
        rc = gguf_read_config(&s->config, g);
    if (rc == 0)
        rc = read_model_name(s, g, path);
    if (rc != 0)
        return rc;
    const struct gguf_tensor *wte = find_stored(g, SCHEMA_EMBEDDING);
    if (wte != NULL && wte->dims[1] > INT32_MAX)
        return err_set(ERR_FORMAT, "tensor token_embd.weight has %" PRIu64 " rows, at most %d",
                       wte->dims[1], INT32_MAX);
    s->config.n_vocab = wte == NULL ? 0 : (int)wte->dims[1];
    if (g->n_tensors == 0 && need_weights)
        return err_set(ERR_MISSING, "the file has a vocabulary but no weights");
    s->defaults_file = "prattle.defaults";
    if ((rc = gguf_read_vocab(s, g, p)) == 0)
        rc = gguf_text(g, s->defaults_file, false, &s->defaults);
    if (rc != 0)
        return rc;
    rc = g->n_tensors == 0 ? config_check(&s->config) : read_tensors(s, g);
    return rc == 0 ? gguf_keep_keys(s, g) : rc;
}

int source_open_gguf(struct source *s, struct file file, bool need_weights,
                     const struct progress *p)
{
    char *path = mem_strdup(file.path);
    struct state *st = mem_alloc(sizeof *st);
    if (path == NULL || st == NULL) {
        mem_free(path);
        mem_free(st);
        file_close(&file);
        return ERR_NOMEM;
    }
    *s = (struct source){.format = st, .close = close_state};
    int rc = gguf_open_file(&st->gguf, file);
    /* These messages have the file's name already. */
    bool named = rc == ERR_IO || rc == ERR_NOMEM;
    s->stamp = rc == 0 ? st->gguf.file.stamp : 0;
    if (rc == 0)
        rc = read_source(s, path, need_weights, p);
    if (rc != 0 && !named)
        file_wrap(path);
    if (rc != 0)
        source_close(s);
    mem_free(path);
    return rc;
}
