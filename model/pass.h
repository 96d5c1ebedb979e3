#ifndef PRATTLE_MODEL_PASS_H
#define PRATTLE_MODEL_PASS_H
/*
 * The input of a forward pass: sequences, and in training dropout. A dropout mask depends on the
 * number of its sequence in the run, the layer and the position, but not on which rows are
 * computed together (struct dropout in training_kernels.h).
 */
#include "model/kernels/training_kernels.h"
#include "model/kv_view.h"

/* One sequence of a pass. */
struct forward_seq {
    const token_id *ids; /* [n], each in 0..V-1 */
    int n;               /* new positions, >= 1; n_past + n <= n_ctx */
    int skip;            /* f->hidden gets no rows for the first `skip` positions; <= n */
    struct kv_view kv;   /* has pages for n_past + n positions, unshared from position n_past on */
};

/* Dropout in training; each may be off (keep 0). resid is for both projections. */
struct forward_dropout {
    struct dropout embd, attn, resid, adapter;
    uint64_t sequence; /* number in the run of the first sequence; the others follow in order */
};
enum dropout_point { DROPOUT_EMBD, DROPOUT_ATTN, DROPOUT_ATTN_PROJ, DROPOUT_MLP_PROJ };
/* The random stream (rng.h) of a sequence's masks at a point; layer -1: the embedding. */
static inline uint64_t dropout_stream(uint64_t sequence, int layer, enum dropout_point point)
{
    return sequence << 24 | (uint64_t)(layer + 1) << 2 | (uint64_t)point;
}
/* The first block, in struct dropout's sense, of the mask of a position's n elements, and of the
 * mask of a head's weights. */
static inline uint64_t dropout_row(int position, int n)
{
    return (uint64_t)position * (uint64_t)((n + 63) / 64);
}
static inline uint64_t dropout_head(const struct config *c, int head)
{
    return (uint64_t)head * (uint64_t)((c->n_ctx + KV_BLOCK - 1) / KV_BLOCK) * (uint64_t)c->n_ctx;
}

#endif
