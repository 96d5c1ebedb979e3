#ifndef PRATTLE_MODEL_PASS_H
#define PRATTLE_MODEL_PASS_H
/*
 * What one forward pass is given: the sequences, and in training what is dropped. A mask
 * depends on the sequence's number in the run, the layer and the position, never on the rows
 * computed together (training_kernels.h: struct dropout).
 */
#include "model/kernels/training_kernels.h"
#include "model/kv_view.h"

/* One sequence's part of a pass. */
struct forward_seq {
    const token_id *ids; /* [n], each in 0..V-1 */
    int n;               /* new positions, >= 1; n_past + n <= n_ctx */
    int skip;            /* the first so many are read, but f->hidden has no rows for them; <= n */
    struct kv_view kv;   /* pages up to n_past + n exist and are not shared from n_past on */
};

/* What training drops; each may be off. */
struct forward_dropout {
    struct dropout embd, attn, resid, adapter;
    uint64_t sequence; /* number of the pass's first: its masks are its own (see rng.h) */
};
enum dropout_point { DROPOUT_EMBD, DROPOUT_ATTN, DROPOUT_ATTN_PROJ, DROPOUT_MLP_PROJ };
/* The stream of a sequence's masks at a point; layer -1 for the embedding. */
static inline uint64_t dropout_stream(uint64_t sequence, int layer, enum dropout_point point)
{
    return sequence << 24 | (uint64_t)(layer + 1) << 2 | (uint64_t)point;
}
/* The first block of a position's mask of n elements, and of a head's weights. */
static inline uint64_t dropout_row(int position, int n)
{
    return (uint64_t)position * (uint64_t)((n + 63) / 64);
}
static inline uint64_t dropout_head(const struct config *c, int head)
{
    return (uint64_t)head * (uint64_t)((c->n_ctx + KV_BLOCK - 1) / KV_BLOCK) * (uint64_t)c->n_ctx;
}

#endif
