#ifndef PRATTLE_TRAIN_STEP_BACKWARD_H
#define PRATTLE_TRAIN_STEP_BACKWARD_H
/*
 * The gradients of model/forward.c's operations, each named as its forward, from the
 * activations that a pass left in its buffers. By every thread of a running job, as the
 * forward; each ends with a barrier. Sums over positions run in an order that the shape
 * alone decides.
 */
#include "model/forward.h"

/* Rows whose gradients of a layer norm's weights are summed together first. */
enum { NORM_ROWS = 32 };

/* A pass's backward: what all threads share. */
struct backward {
    struct forward *f; /* its params are the masters' view */
    const struct forward_seq *seqs;
    int n_seqs, rows;
    const float *masters; /* [n]: where a parameter lies here, its gradient lies in gradients */
    float *gradients;     /* [n], added to */
    bool frozen;          /* no parameter of the model lies there, only terms beside it do */
    float *dx;            /* [rows,C] of the residual stream */
    float *branch;    /* [rows,C] of what a branch gives to it, then of its layer norm's output */
    float *datt;      /* [rows,C] of attention's output */
    float *dqkv;      /* [rows,3C] */
    float *dfc;       /* [rows,F] */
    float *dinner;    /* [rows,rank] of a term's x A^T */
    float *norm_sums; /* [rows / NORM_ROWS rounded up][2][C] of a layer norm's weight and bias */
    int length;       /* of the longest text there is scratch for */
    int attention_pieces; /* that its queries go in through attention; 0: as fits the cache */
    char *thread_scratch; /* [n_threads][thread_bytes]: backward_scratch_bytes each */
    size_t thread_bytes;
};

/* One thread's view of it. */
struct backward_part {
    const struct backward *b;
    int thread, n_threads;
    char *scratch; /* this thread's own, aligned to 64 */
};

/* Bytes of scratch one thread needs for texts of up to `length` positions. */
size_t backward_scratch_bytes(const struct config *c, int length, int attention_pieces);

static inline float *backward_gradient(const struct backward *b, const void *parameter)
{
    return b->gradients + ((const float *)parameter - b->masters);
}

/* dx of ln_f's input from branch, the gradient of its output. */
void backward_final_norm(const struct backward_part *p);
/* dx of a layer's input from that of its output. */
void backward_layer(const struct backward_part *p, int layer);
/* The gradients of attention's weights and values in dqkv, from datt. */
void backward_attention(const struct backward_part *p, int layer);
/* Of y = scale drop(x) A^T B: dx, not added to, and the gradients of A and B, from dy; all whole
 * in every thread. Ends with a barrier. */
struct low_rank;
void backward_low_rank(const struct backward_part *p, const struct low_rank *w, float *dx,
                       const float *x, const float *dy);
/* The gradients of the embeddings from dx. */
void backward_embedding(const struct backward_part *p);

#endif
