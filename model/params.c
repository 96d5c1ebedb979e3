/*
 * The block is carved in the order in which decoding reads it. Filling divides tensors into chunks
 * of about CHUNK_BYTES, whole rows of the file; threads take the next chunk from a shared counter
 * until none is left or `failed` is set. The thread that raises failed from 0 writes error and
 * text; the caller reads them after the job.
 */
#include "model/params.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/mem_room.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/row_kernels.h"
#include "model/layer_stream.h"
#include "model/schema.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- the block ---- */

static void carve_tensor(struct params *p, struct arena *a, int i)
{
    struct schema_tensor t = schema_tensor(&p->config, i);
    const bool sizing = t.layer >= 0 && p->layers == NULL;
    int rows, cols;
    schema_shape(t.row, &p->config, &rows, &cols);
    if (!schema_is_linear(t.row)) {
        float *data = arena_take(a, (size_t)rows * (size_t)cols * sizeof *data);
        if (!sizing)
            schema_set_data(t, p, data);
        return;
    }
    const bool turned = t.row->kind == PARAM_EMBEDDING;
    struct linear w = {.K = turned ? cols : rows, .N = turned ? rows : cols};
    w.dtype = linear_dtype(p->dtype, w.K);
    w.data = arena_take(a, linear_bytes(w.dtype, w.K, w.N));
    if (!sizing)
        *schema_linear(t, p) = w;
}

/* The block in the order in which decoding reads it: the output head, an embedding, comes last.
 * While sizing, p->layers is NULL. */
static void carve_params(struct params *p, struct arena *a)
{
    for (int last = 0; last < 2; last++)
        for (int i = 0; i < schema_count(&p->config); i++)
            if ((schema_tensor(&p->config, i).row->kind == PARAM_EMBEDDING) == (last != 0))
                carve_tensor(p, a, i);
    if (p->config.tie_word_embeddings)
        p->lm_head = p->wte;
}

static size_t carved_bytes(const struct config *c, enum dtype dtype, int n_layer)
{
    struct params p = {.config = *c, .dtype = dtype};
    struct arena a = {0};
    p.config.n_layer = n_layer;
    carve_params(&p, &a);
    return a.used;
}

/* Every layer takes as much as another. */
size_t params_bytes(const struct config *c, enum dtype dtype)
{
    const size_t none = carved_bytes(c, dtype, 0), one = carved_bytes(c, dtype, 1);
    return none + (size_t)c->n_layer * (one - none);
}

/* ---- the table ---- */

static int fill_table(struct params *p)
{
    p->n_tensors = schema_count(&p->config);
    p->tensors = mem_array((size_t)p->n_tensors, sizeof *p->tensors);
    if (p->tensors == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < p->n_tensors; i++) {
        struct schema_tensor row = schema_tensor(&p->config, i);
        struct param_tensor *t = &p->tensors[i];
        *t = (struct param_tensor){.kind = row.row->kind,
                                   .layer = row.layer,
                                   .decays = row.row->decays,
                                   .fused = row.row->fused};
        schema_name(t->name, sizeof t->name, row);
        schema_shape(row.row, &p->config, &t->rows, &t->cols);
        if (p->layers != NULL && schema_is_linear(row.row))
            t->linear = schema_linear(row, p);
        else if (p->layers != NULL)
            t->data = schema_data(row, p);
    }
    return 0;
}

int params_describe(struct params *p, const struct config *c)
{
    *p = (struct params){.config = *c};
    int rc = config_check(&p->config);
    return rc != 0 ? rc : fill_table(p);
}

int params_init(struct params *p, const struct config *c, enum dtype dtype)
{
    struct config checked = *c;
    *p = (struct params){.config = *c, .dtype = dtype};
    int rc = config_check(&checked);
    if (rc != 0)
        return rc;
    size_t bytes = params_bytes(&checked, dtype);
    const struct mem_limit here = mem_limit_find();
    if (bytes > here.memory)
        return err_set(ERR_NOMEM, "the weights need %.1f GB of memory, %s has %.1f GB",
                       (double)bytes / 1e9, here.owner, (double)here.memory / 1e9);
    return params_reserve(p, c, dtype);
}

int params_reserve(struct params *p, const struct config *c, enum dtype dtype)
{
    *p = (struct params){.config = *c, .dtype = dtype};
    int rc = config_check(&p->config);
    if (rc != 0)
        return rc;
    const size_t bytes = params_bytes(&p->config, dtype);
    p->layers = mem_array((size_t)p->config.n_layer, sizeof *p->layers);
    p->block = p->layers == NULL ? NULL : mem_map("weights", bytes);
    rc = ERR_NOMEM;
    if (p->block != NULL) {
        p->block_bytes = bytes;
        struct arena a = {.base = p->block};
        carve_params(p, &a);
        rc = fill_table(p);
    }
    if (rc != 0)
        params_release(p);
    return rc;
}

void params_release(struct params *p)
{
    if (p == NULL)
        return;
    layer_stream_free(p->stream);
    mem_unmap(p->block, p->block_bytes);
    mem_free(p->layers);
    mem_free(p->tensors);
    *p = (struct params){0};
}

int params_lost(const struct params *p)
{
    return !p->lost ? 0
                    : err_set(ERR_IO, "the model's weights could not be read back when training "
                                      "stopped; load the model again");
}

int params_need_memory(const struct params *p, const char *what)
{
    if (p->lost)
        return params_lost(p);
    return p->stream == NULL ? 0
                             : err_set(ERR_UNSUPPORTED,
                                       "%s needs all weights in memory, and some layers are read "
                                       "from disk at each pass; phased=off loads all of them",
                                       what);
}

struct param_tensor *params_find(const struct params *p, const char *name)
{
    for (int i = 0; i < p->n_tensors; i++)
        if (strcmp(p->tensors[i].name, name) == 0)
            return &p->tensors[i];
    return NULL;
}

/* ---- filling ---- */

#define POLL_S 0.001 /* between two polls of the job and of Ctrl-C */

enum { CHUNK_BYTES = 256 << 10, ERR_BYTES = 1024 };

/* One tensor, divided into chunks of rows. */
struct fill_tensor {
    struct param_tensor *t;
    const struct tensor_reader *r;
    int rows, cols; /* in the file */
    bool blocks;    /* as blocks of Q8_0 (params_keep_q8) */
    int chunk;      /* rows of a chunk; whole panels where file rows are panel columns, whole blocks
                       where they are panel rows of Q8_0 */
    int first;      /* number of its first chunk, counted over all tensors */
    _Atomic uint64_t n_bad;
};

struct fill {
    struct fill_tensor *tensors; /* [n_tensors] */
    int n_tensors, n_chunks;
    char *buffers; /* [n_threads][buffer_bytes] */
    size_t buffer_bytes;
    atomic_int next;       /* the next chunk to take */
    _Atomic uint64_t done; /* elements filled, for progress */
    atomic_int failed;     /* nonzero: stop; guards the fields below */
    int error;
    const struct param_tensor *failed_in;
    char text[ERR_BYTES];
};

/* Of COUNTED elements, so that the compiler makes vectors of the loops. */
enum { COUNTED = 256 };

static uint16_t count_bad_halfs(const uint16_t *h)
{
    uint16_t bad = 0;
    for (int i = 0; i < COUNTED; i++)
        bad = (uint16_t)(bad + ((h[i] & 0x7c00) == 0x7c00));
    return bad;
}

static uint32_t count_bad_floats(const int32_t *x, int32_t least)
{
    uint32_t bad = 0;
    for (int i = 0; i < COUNTED; i++)
        bad += (x[i] & 0x7fffffff) >= least;
    return bad;
}

/* From this size on a number is infinite in memory. */
static float limit_in_memory(const struct param_tensor *t)
{
    if (t->linear != NULL && t->linear->dtype == DTYPE_Q8)
        return Q8_LIMIT;
    const bool half = t->half != NULL || (t->linear != NULL && t->linear->dtype == DTYPE_F16);
    return half ? 65520 : INFINITY;
}

/* How many of n elements are NaN or infinite, or become so. */
static uint64_t count_bad(const void *src, enum dtype dtype, size_t n, float limit)
{
    const int32_t *x = src, least = (int32_t)float_bits(limit);
    const uint16_t *h = src;
    uint64_t bad = 0;
    size_t i = 0;
    for (; i + COUNTED <= n; i += COUNTED)
        bad += dtype == DTYPE_F16 ? count_bad_halfs(h + i) : count_bad_floats(x + i, least);
    for (; i < n; i++)
        bad += dtype == DTYPE_F16 ? (h[i] & 0x7c00) == 0x7c00 : (x[i] & 0x7fffffff) >= least;
    return bad;
}

static uint64_t count_bad_blocks(const struct q8_block *b, size_t n)
{
    uint64_t bad = 0;
    for (size_t i = 0; i < n; i++)
        bad += (b[i].d & 0x7c00u) == 0x7c00u ? Q8_BLOCK : 0;
    return bad;
}

/* Store rows of an [out,in] file as columns of t's plain [in,out]. */
static void store_transposed(const struct param_tensor *t, const void *src, enum dtype dtype,
                             int first, int count)
{
    const size_t cols = (size_t)t->cols, rows = (size_t)t->rows;
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < (size_t)count; i++) {
            size_t to = row * cols + (size_t)first + i, from = i * rows + row;
            float x = dtype == DTYPE_F32 ? ((const float *)src)[from]
                                         : half_to_f32(((const uint16_t *)src)[from]);
            if (t->half != NULL)
                t->half[to] = half_from_f32(x);
            else
                t->data[to] = x;
        }
}

/* Store rows first .. first + count - 1 of the file, which are at src. */
static void store_rows(const struct fill_tensor *p, const void *src, enum dtype dtype, int first,
                       int count)
{
    const struct param_tensor *t = p->t;
    size_t n = (size_t)count * (size_t)p->cols;
    if (t->linear != NULL) {
        bool out_major = t->kind == PARAM_EMBEDDING || p->r->out_major;
        (out_major ? linear_fill_out_major : linear_fill_in_major)(t->linear, src, dtype, first,
                                                                   count);
        return;
    }
    if (t->kind == PARAM_CONV1D && p->r->out_major) {
        store_transposed(t, src, dtype, first, count);
        return;
    }
    size_t at = (size_t)first * (size_t)p->cols;
    if (t->half != NULL && dtype == DTYPE_F16)
        memcpy(t->half + at, src, n * sizeof *t->half);
    else if (t->half != NULL)
        row_kernels()->half_from_f32(t->half + at, src, n);
    else if (dtype == DTYPE_F32)
        memcpy(t->data + at, src, n * sizeof *t->data);
    else
        row_kernels()->half_to_f32(t->data + at, src, n);
}

static int fill_blocks(struct fill_tensor *p, void *buffer, int first, int count)
{
    const size_t each = (size_t)p->cols / Q8_BLOCK, n = (size_t)count * each;
    int rc = p->r->read_q8(p->r->user, buffer, (uint64_t)first * each, n);
    if (rc != 0)
        return rc;
    atomic_fetch_add(&p->n_bad, count_bad_blocks(buffer, n));
    linear_fill_q8(p->t->linear, buffer, first, count);
    return 0;
}

static int fill_rows(struct fill_tensor *p, char *buffer, int first, int count)
{
    const struct tensor_reader *r = p->r;
    size_t n = (size_t)count * (size_t)p->cols;
    if (p->blocks)
        return fill_blocks(p, buffer, first, count);
    /* bfloat16 is read into the second half of the buffer, and widened in place from its front. */
    char *raw = r->dtype == DTYPE_BF16 ? buffer + n * 2 : buffer;
    int rc = r->read(r->user, raw, (uint64_t)first * (uint64_t)p->cols, n);
    if (rc != 0)
        return rc;
    if (r->dtype == DTYPE_BF16)
        for (size_t i = 0; i < n; i++) {
            uint16_t b;
            memcpy(&b, raw + 2 * i, sizeof b);
            float x = bf16_to_f32(b);
            memcpy(buffer + 4 * i, &x, sizeof x);
        }
    enum dtype dtype = r->dtype == DTYPE_F16 ? DTYPE_F16 : DTYPE_F32;
    atomic_fetch_add(&p->n_bad, count_bad(buffer, dtype, n, limit_in_memory(p->t)));
    store_rows(p, buffer, dtype, first, count);
    return 0;
}

static void fill_share(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    struct fill *f = arg;
    char *buffer = f->buffers + (size_t)thread * f->buffer_bytes;
    int at = 0;
    profile_set(PART_FILES);
    while (atomic_load_explicit(&f->failed, memory_order_relaxed) == 0) {
        int chunk = atomic_fetch_add(&f->next, 1);
        if (chunk >= f->n_chunks)
            return;
        while (at + 1 < f->n_tensors && f->tensors[at + 1].first <= chunk)
            at++;
        struct fill_tensor *p = &f->tensors[at];
        int first = (chunk - p->first) * p->chunk;
        int count = p->rows - first < p->chunk ? p->rows - first : p->chunk;
        int rc = fill_rows(p, buffer, first, count);
        atomic_fetch_add(&f->done, (uint64_t)count * (uint64_t)p->cols);
        if (rc != 0 && atomic_fetch_add(&f->failed, 1) == 0) {
            f->error = rc;
            f->failed_in = p->t;
            snprintf(f->text, sizeof f->text, "%s", err_text());
        }
    }
}

/* Add a tensor and its chunks to the plan. */
static void plan_tensor(struct fill *f, struct param_tensor *t, const struct tensor_reader *r)
{
    const bool blocks = params_keep_q8(t, r);
    bool swapped = t->kind == PARAM_CONV1D && (r->out_major || blocks);
    struct fill_tensor *p = &f->tensors[f->n_tensors++];
    *p = (struct fill_tensor){.t = t, .r = r, .blocks = blocks, .first = f->n_chunks};
    p->rows = swapped ? t->cols : t->rows;
    p->cols = swapped ? t->rows : t->cols;
    const bool q8 = t->linear != NULL && t->linear->dtype == DTYPE_Q8;
    int unit = t->kind == PARAM_EMBEDDING || swapped ? PANEL : q8 ? Q8_BLOCK : 1;
    size_t row_bytes = blocks ? (size_t)p->cols / Q8_BLOCK * sizeof(struct q8_block)
                              : (size_t)p->cols * (r->dtype == DTYPE_F16 ? 2 : 4);
    size_t fit = CHUNK_BYTES / row_bytes;
    p->chunk = fit < (size_t)unit ? unit : (int)(fit / (size_t)unit * (size_t)unit);
    if (p->chunk > p->rows)
        p->chunk = p->rows;
    f->n_chunks += (p->rows + p->chunk - 1) / p->chunk;
    size_t bytes = ((size_t)p->chunk * row_bytes + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN;
    f->buffer_bytes = bytes > f->buffer_bytes ? bytes : f->buffer_bytes;
}

int params_fill(struct param_tensor *tensors, const struct tensor_reader *readers, int n,
                uint64_t *n_bad, const struct progress *progress)
{
    struct fill f = {.tensors = mem_array((size_t)n, sizeof *f.tensors)};
    uint64_t total = 0;
    if (f.tensors == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < n; i++) {
        plan_tensor(&f, &tensors[i], &readers[i]);
        total += (uint64_t)tensors[i].rows * (uint64_t)tensors[i].cols;
    }
    int rc = progress_step(progress, "loading", 0, total);
    if (rc == 0 && (f.buffers = mem_array((size_t)par_threads(), f.buffer_bytes)) == NULL)
        rc = ERR_NOMEM;
    if (rc == 0) {
        par_start(fill_share, &f);
        while (!par_done()) {
            clock_sleep_s(POLL_S);
            if (rc == 0 && (rc = progress_step(progress, "loading", f.done, total)) != 0)
                atomic_fetch_add(&f.failed, 1);
        }
        par_wait();
    }
    if (rc == 0 && f.error != 0) {
        err_set(f.error, "%s", f.text);
        rc = err_wrap("cannot load tensor %s", f.failed_in->name);
    }
    for (int i = 0; i < n && rc == 0; i++)
        n_bad[i] = f.tensors[i].n_bad;
    mem_free(f.buffers);
    mem_free(f.tensors);
    return rc;
}

/* ---- reading back ---- */

void params_read(const struct param_tensor *t, float *out, uint64_t first, size_t n)
{
    if (t->half != NULL) {
        row_kernels()->half_to_f32(out, t->half + first, n);
        return;
    }
    if (t->linear == NULL) {
        memcpy(out, t->data + first, n * sizeof *out);
        return;
    }
    int row = (int)(first / (uint64_t)t->cols), col = (int)(first % (uint64_t)t->cols);
    for (size_t i = 0; i < n; i++) {
        out[i] = t->kind == PARAM_EMBEDDING ? linear_element(t->linear, col, row)
                                            : linear_element(t->linear, row, col);
        if (++col == t->cols) {
            col = 0;
            row++;
        }
    }
}

size_t params_matmul_bytes(const struct params *p)
{
    size_t bytes = 0;
    for (int i = 0; i < p->n_tensors; i++) {
        const struct linear *w = p->tensors[i].linear;
        if (w != NULL && (w == &p->lm_head || p->tensors[i].kind == PARAM_CONV1D ||
                          p->config.tie_word_embeddings))
            bytes += linear_bytes(w->dtype, w->K, PANEL) / PANEL * (size_t)w->N;
    }
    return bytes;
}
