/*
 * Attention's backward (Dao et al. 2022): the weights of a block of 64 keys and a run of
 * queries are made again from the scores and the row's ln sum, so that no more than that
 * is ever in memory. One head of one sequence is one thread's from end to end.
 */
#include "train/backward.h"

#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/parts.h"
#include "model/kernels/blas.h"

enum { KEYS = 64, QUERIES = 256 };

struct scratch {
    float *p, *ds; /* [QUERIES,KEYS] */
    float *delta;  /* [n] of each row: sum of the weights times their gradients */
};

static size_t carve(struct scratch *s, void *memory, int n)
{
    struct arena a = {.base = memory};
    s->p = arena_take(&a, sizeof(float) * QUERIES * KEYS);
    s->ds = arena_take(&a, sizeof(float) * QUERIES * KEYS);
    s->delta = arena_take(&a, sizeof(float) * (size_t)n);
    return a.used;
}

size_t backward_scratch_bytes(int n)
{
    struct scratch s;
    return carve(&s, NULL, n);
}

/* One head of one sequence, from its first row on; rows of q, k, v and their gradients are
 * 3C apart, those of the output C, those of lse H. */
struct head {
    const struct dropout *dropout; /* NULL: none */
    uint64_t stream, mask;
    int n, D, C, H, n_ctx;
    float scale;
    const float *q, *k, *v, *out, *dout, *lse;
    float *dq, *dk, *dv;
};

/* Rows i .. i + rows - 1 of p and ds over keys j .. j + keys - 1, from scores and gradients
 * of the weights to (dropped) weights and gradients of the scores. */
static void softmax(const struct head *h, const struct scratch *s, int i, int rows, int j, int keys)
{
    const struct kernels *k = kernels_active();
    for (int r = 0; r < rows; r++) {
        float *p = s->p + r * KEYS, *ds = s->ds + r * KEYS;
        int seen = i + r - j + 1 < keys ? i + r - j + 1 : keys;
        uint64_t block = h->mask + (uint64_t)(j / KEYS) * (uint64_t)h->n_ctx + (uint64_t)(i + r);
        if (h->dropout != NULL)
            k->dropout(ds, ds, (size_t)seen, h->dropout, h->stream, block);
        k->softmax_grad(p, ds, seen, h->scale, h->lse[(size_t)(i + r) * (size_t)h->H],
                        s->delta[i + r]);
        if (h->dropout != NULL)
            k->dropout(p, p, (size_t)seen, h->dropout, h->stream, block);
    }
}

static void one_head(const struct head *h, const struct scratch *s)
{
    const int C = h->C, D = h->D, ld = 3 * C;
    for (int i = 0; i < h->n; i++)
        s->delta[i] = kernels_active()->dot(h->out + (size_t)i * (size_t)C,
                                            h->dout + (size_t)i * (size_t)C, (size_t)D);
    for (int j = 0; j < h->n; j += KEYS) {
        const int keys = h->n - j < KEYS ? h->n - j : KEYS;
        const size_t key = (size_t)j * (size_t)ld;
        for (int i = j, rows; i < h->n; i += rows) {
            rows = h->n - i < QUERIES ? h->n - i : QUERIES;
            const size_t query = (size_t)i * (size_t)ld;
            const float *dout = h->dout + (size_t)i * (size_t)C;
            blas_gemm(false, true, rows, keys, D, 1, h->q + query, ld, h->k + key, ld, 0, s->p,
                      KEYS);
            blas_gemm(false, true, rows, keys, D, 1, dout, C, h->v + key, ld, 0, s->ds, KEYS);
            softmax(h, s, i, rows, j, keys);
            float more = i == j ? 0 : 1;
            blas_gemm(true, false, keys, D, rows, 1, s->p, KEYS, dout, C, more, h->dv + key, ld);
            blas_gemm(true, false, keys, D, rows, 1, s->ds, KEYS, h->q + query, ld, more,
                      h->dk + key, ld);
            blas_gemm(false, false, rows, D, keys, 1, s->ds, KEYS, h->k + key, ld, j == 0 ? 0 : 1,
                      h->dq + query, ld);
        }
    }
}

void backward_attention(const struct backward_part *p, int layer)
{
    const struct backward *b = p->b;
    const struct config *c = &b->f->params->config;
    const struct activations *a = &b->f->layers[layer];
    const struct forward_dropout *d = b->f->dropout;
    const size_t C = (size_t)c->n_embd, D = (size_t)config_head_size(c);
    struct scratch s;
    carve(&s, p->scratch, c->n_ctx);
    parts_set(PART_ATTENTION);
    int unit = 0, row = 0;
    for (int i = 0; i < b->n_seqs; row += b->seqs[i++].n)
        for (int n = 0; n < c->n_head; n++) {
            if (unit++ % p->n_threads != p->thread)
                continue;
            size_t at = (size_t)row * C + (size_t)n * D;
            size_t q = (size_t)row * 3 * C + (size_t)n * D, k = q + C, v = k + C;
            struct head h = {.n = b->seqs[i].n,
                             .D = (int)D,
                             .C = (int)C,
                             .H = c->n_head,
                             .scale = forward_score_scale(c, layer),
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
                h.mask = dropout_head(c, n);
                h.n_ctx = c->n_ctx;
            }
            one_head(&h, &s);
        }
    par_barrier();
}
