/*
 * Backward of attention (Dao et al. 2022). The weights P of one block of 64 keys and one run of
 * queries are recomputed from the scores S and each row's log-sum-exp, and are all of P that is in
 * memory. One thread computes one head of one sequence from end to end:
 *
 *   for each block of keys
 *     for each run of queries that see the block
 *       for each R queries of the run      S = Q K^T, dP = dO V^T, dS = P (dP - delta) scale
 *                                          dQ += dS K
 *       for each R keys of the block       dV += P^T dO, dK += dS^T Q
 *
 * The products are register tiles (matrix_kernels.h), which add in order, so the length of a run
 * changes no bits.
 */
#include "train/step/backward_attention.h"

#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/attention.h"
#include "model/kernels/attention_kernels.h"
#include "model/kernels/matrix_kernels.h"
#include "model/kernels/training_kernels.h"

#include <string.h>

enum {
    KEYS = ATTENTION_BLOCK,
    FIT_GROUPS = 16 /* groups of R queries whose weights fit the cache */
};

/* A head's matrices with contiguous rows, padded to D16 columns, and intermediate results. R: rows
 * of the kernels' largest tile. */
struct scratch {
    size_t D16;
    int R;
    int run;                       /* queries in a run, a multiple of R */
    float *q, *k, *v, *dout;       /* [n,D16] */
    float *dq, *dk, *dv;           /* [n,D16] */
    float *lse, *delta;            /* [n]; delta: the sum over keys of weight times its gradient */
    float *q_packed, *dout_packed; /* in groups of R rows, transposed: [n / R][D16,R] */
    float *keys, *values;          /* of a block, transposed: [D16,KEYS] */
    float *p, *ds;                 /* of a run of queries: [queries,KEYS] */
    float *ds_packed;              /* of a group: [KEYS,R] */
};

static size_t carve_scratch(struct scratch *s, void *memory, int n, int D, int pieces)
{
    struct arena a = {.base = memory};
    s->R = matrix_kernels()->tile_rows;
    s->D16 = ((size_t)D + 15) / 16 * 16;
    int queries = pieces == 0 ? FIT_GROUPS * s->R : (n + pieces - 1) / pieces;
    s->run = (queries + s->R - 1) / s->R * s->R;
    /* Enough for any table of kernels. */
    const size_t R = TILE_MAX_ROWS, all = ((size_t)n + R) * s->D16 * sizeof(float);
    const size_t most = pieces == 0 ? FIT_GROUPS * R : (size_t)queries + R;
    const size_t run = most * KEYS * sizeof(float);
    float **whole[] = {&s->q,  &s->k,  &s->v,        &s->dout,       &s->dq,
                       &s->dk, &s->dv, &s->q_packed, &s->dout_packed};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        *whole[i] = arena_take(&a, all);
    s->lse = arena_take(&a, (size_t)n * sizeof(float));
    s->delta = arena_take(&a, (size_t)n * sizeof(float));
    s->keys = arena_take(&a, s->D16 * KEYS * sizeof(float));
    s->values = arena_take(&a, s->D16 * KEYS * sizeof(float));
    s->p = arena_take(&a, run);
    s->ds = arena_take(&a, run);
    s->ds_packed = arena_take(&a, R * KEYS * sizeof(float));
    return a.used;
}

size_t backward_attention_scratch_bytes(const struct config *c, int length, int attention_pieces)
{
    struct scratch s;
    return carve_scratch(&s, NULL, length, config_head_size(c), attention_pieces);
}

/* One head of one sequence. From row to row, q, k, v and their gradients advance by 3A floats, out
 * and dout by A, lse by H. */
struct head {
    const struct dropout *dropout; /* NULL: none */
    uint64_t stream, mask;
    int n, D, A, H, n_ctx;
    int window; /* as in struct attention */
    float scale;
    const float *q, *k, *v, *out, *dout, *lse;
    float *dq, *dk, *dv;
};

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* Rows are short and far apart on one side, so no hardware prefetcher finds them. */
static void copy_rows(float *to, size_t ld_to, const float *from, size_t ld_from, int rows,
                      size_t n)
{
    enum { AHEAD = 8 };
    for (int r = 0; r < rows; r++, to += ld_to, from += ld_from) {
        for (size_t i = 0; i < n && r + AHEAD < rows; i += 16) {
            __builtin_prefetch(from + AHEAD * ld_from + i);
            __builtin_prefetch(to + AHEAD * ld_to + i, 1);
        }
        memcpy(to, from, n * sizeof *to);
    }
}

/* Copy a head's rows together, and compute lse, delta and the packed groups. */
static void gather_head(const struct head *h, const struct scratch *s)
{
    const struct matrix_kernels *k = matrix_kernels();
    const size_t A = (size_t)h->A, D = (size_t)h->D, D16 = s->D16;
    copy_rows(s->q, D16, h->q, 3 * A, h->n, D);
    copy_rows(s->k, D16, h->k, 3 * A, h->n, D);
    copy_rows(s->v, D16, h->v, 3 * A, h->n, D);
    copy_rows(s->dout, D16, h->dout, A, h->n, D);
    for (int i = 0; i < h->n; i++) {
        s->lse[i] = h->lse[(size_t)i * (size_t)h->H];
        s->delta[i] = training_kernels()->dot(h->out + (size_t)i * A, s->dout + (size_t)i * D16, D);
    }
    for (int i = 0; i < h->n; i += s->R) {
        size_t at = (size_t)i * D16;
        k->pack_rows(s->q_packed + at, s->q + at, D16, min_int(s->R, h->n - i), h->D);
        k->pack_rows(s->dout_packed + at, s->dout + at, D16, min_int(s->R, h->n - i), h->D);
    }
}

static void scatter_head(const struct head *h, const struct scratch *s)
{
    const size_t A = (size_t)h->A, D = (size_t)h->D;
    copy_rows(h->dq, 3 * A, s->dq, s->D16, h->n, D);
    copy_rows(h->dk, 3 * A, s->dk, s->D16, h->n, D);
    copy_rows(h->dv, 3 * A, s->dv, s->D16, h->n, D);
}

/* acc [rows,cols] (+)= x W, x [K,ldx], W [K,cols]. */
static void multiply_tile(float *acc, bool fresh, const float *x, int ldx, int rows, const float *w,
                          int K, size_t cols)
{
    matrix_kernels()->tile_f32(acc, cols, fresh, x, (size_t)ldx, rows, w, cols, K, (int)cols, NULL,
                               (struct prefetch){.at = w});
}

/* The first position that position i attends to. */
static int first_seen(const struct head *h, int i)
{
    return h->window == 0 || i < h->window ? 0 : i - h->window + 1;
}

/* Rows of p and ds, for queries i .. i + rows - 1 and keys j .. j + keys - 1: p from scores to
 * weights after dropout, ds from gradients of these to gradients of the scores. */
static void softmax_rows(const struct head *h, const struct scratch *s, float *p, float *ds, int i,
                         int rows, int j, int keys)
{
    for (int r = 0; r < rows; r++, p += KEYS, ds += KEYS) {
        int seen = min_int(i + r - j + 1, keys);
        bool drops = h->dropout != NULL && seen > 0;
        uint64_t block = h->mask + (uint64_t)(j / KEYS) * (uint64_t)h->n_ctx + (uint64_t)(i + r);
        if (drops)
            training_kernels()->dropout(ds, ds, (size_t)seen, h->dropout, h->stream, block);
        attention_kernels()->softmax_grad(p, ds, seen, h->scale, s->lse[i + r], s->delta[i + r]);
        if (drops)
            training_kernels()->dropout(p, p, (size_t)seen, h->dropout, h->stream, block);
        for (int unseen = min_int(first_seen(h, i + r) - j, keys); unseen > 0; unseen--)
            p[unseen - 1] = ds[unseen - 1] = 0;
    }
}

/* Queries i .. i + rows - 1, which are rows `row` and following of the run, against the block of
 * keys at j. */
static void query_gradients(const struct head *h, const struct scratch *s, int i, int rows, int row,
                            int j, int keys)
{
    const size_t at = (size_t)i * s->D16;
    float *p = s->p + row * KEYS, *ds = s->ds + row * KEYS;
    multiply_tile(p, true, s->q_packed + at, rows, rows, s->keys, h->D, KEYS);
    multiply_tile(ds, true, s->dout_packed + at, rows, rows, s->values, h->D, KEYS);
    softmax_rows(h, s, p, ds, i, rows, j, keys);
    matrix_kernels()->pack_rows(s->ds_packed, ds, KEYS, rows, keys);
    multiply_tile(s->dq + at, j == first_seen(h, i) / KEYS * KEYS, s->ds_packed, rows, rows,
                  s->k + (size_t)j * s->D16, keys, s->D16);
}

/* Add the contributions of a run of queries, from i on, to dK and dV of the block of keys at j. */
static void key_gradients(const struct scratch *s, int i, int queries, int j, int keys, bool fresh)
{
    const size_t query = (size_t)i * s->D16;
    for (int c = 0; c < keys; c += s->R) {
        const int R = min_int(s->R, keys - c);
        const size_t key = (size_t)(j + c) * s->D16;
        multiply_tile(s->dv + key, fresh, s->p + c, KEYS, R, s->dout + query, queries, s->D16);
        multiply_tile(s->dk + key, fresh, s->ds + c, KEYS, R, s->q + query, queries, s->D16);
    }
}

/* Behind the last query that sees a key before `key`, in whole groups. */
static int last_query(const struct head *h, const struct scratch *s, int key)
{
    if (h->window == 0 || h->window >= h->n - key)
        return h->n;
    return min_int(h->n, (key + h->window - 1 + s->R - 1) / s->R * s->R);
}

static void head_gradients(const struct head *h, const struct scratch *s)
{
    gather_head(h, s);
    for (int j = 0; j < h->n; j += KEYS) {
        const int keys = min_int(KEYS, h->n - j), begin = j / s->R * s->R;
        const int end = last_query(h, s, j + keys);
        const size_t key = (size_t)j * s->D16;
        matrix_kernels()->pack_columns(s->keys, KEYS, s->k + key, s->D16, keys, h->D);
        matrix_kernels()->pack_columns(s->values, KEYS, s->v + key, s->D16, keys, h->D);
        for (int i = begin, queries; i < end; i += queries) {
            queries = min_int(s->run, end - i);
            for (int row = 0; row < queries; row += s->R)
                query_gradients(h, s, i + row, min_int(s->R, queries - row), row, j, keys);
            key_gradients(s, i, queries, j, keys, i == begin);
        }
    }
    scatter_head(h, s);
}

void backward_attention(const struct backward_thread *p, int layer)
{
    const struct backward *b = p->b;
    const struct config *c = &b->f->params->config;
    const struct activations *a = &b->f->layers[layer];
    const struct forward_dropout *d = b->f->dropout;
    const size_t A = (size_t)config_heads_width(c), D = (size_t)config_head_size(c);
    struct scratch s;
    carve_scratch(&s, p->scratch, b->length, (int)D, b->attention_pieces);
    profile_set(PART_ATTENTION);
    int unit = 0, row = 0;
    for (int i = 0; i < b->n_seqs; row += b->seqs[i++].n)
        for (int n = 0; n < c->n_head; n++) {
            if (unit++ % p->n_threads != p->thread)
                continue;
            size_t at = (size_t)row * A + (size_t)n * D;
            size_t q = (size_t)row * 3 * A + (size_t)n * D, k = q + A, v = k + A;
            struct head h = {.n = b->seqs[i].n,
                             .D = (int)D,
                             .A = (int)A,
                             .H = c->n_head,
                             .scale = pass_thread_score_scale(c, layer),
                             .window = config_window(c, layer),
                             .q = a->qkv + q,
                             .k = a->qkv + k,
                             .v = a->qkv + v,
                             .out = a->att + at,
                             .dout = b->datt + at,
                             .lse = a->lse + (size_t)row * (size_t)c->n_head + n,
                             .dq = b->dqkv + q,
                             .dk = b->dqkv + k,
                             .dv = b->dqkv + v};
            if (d != NULL && d->attn.keep != 0) {
                h.dropout = &d->attn;
                h.stream = dropout_stream(d->sequence + (uint64_t)i, layer, DROPOUT_ATTN);
                h.mask = dropout_head(c, shard_first_head(b->f->shard) + n);
                h.n_ctx = c->n_ctx;
            }
            head_gradients(&h, &s);
        }
    par_barrier();
}
