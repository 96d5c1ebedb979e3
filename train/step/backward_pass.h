#ifndef PRATTLE_TRAIN_STEP_BACKWARD_PASS_H
#define PRATTLE_TRAIN_STEP_BACKWARD_PASS_H
/*
 * The state of a backward pass: the forward it follows, the gradients it adds to, and its
 * scratch. backward.h, backward_attention.h, backward_low_rank.h and loss.h work on it.
 */
#include "model/forward.h"

/* Rows whose gradients of a layer norm's weights are summed together first. */
enum { NORM_ROWS = 32 };

/* A pass's backward: what all threads share. */
struct backward {
    struct forward *f; /* its params are the training weights' view */
    const struct forward_seq *seqs;
    int n_seqs, rows;
    const float *weights; /* [n]: where a parameter lies here, its gradient lies in gradients */
    float *gradients;     /* [n], added to */
    bool frozen;          /* only LoRA branches have gradients, no parameter of the model does */
    float *dx;            /* [rows,C] of the residual stream */
    float *branch;    /* [rows,C] of what a branch gives to it, then of its layer norm's output */
    float *datt;      /* [rows,C] of attention's output */
    float *dqkv;      /* [rows,3C] */
    float *dfc;       /* [rows,F] */
    float *dinner;    /* [rows,rank] of a LoRA branch's x A^T */
    float *norm_sums; /* [rows / NORM_ROWS rounded up][2][C] of a layer norm's weight and bias */
    int length;       /* of the longest text there is scratch for */
    int attention_pieces; /* that its queries go in through attention; 0: as fits the cache */
    char *thread_scratch; /* [n_threads][thread_bytes]: backward_attention_scratch_bytes each */
    size_t thread_bytes;
};

/* One thread's view of it. */
struct backward_thread {
    const struct backward *b;
    int thread, n_threads;
    char *scratch; /* this thread's own, aligned to 64 */
};

static inline float *backward_gradient(const struct backward *b, const void *parameter)
{
    return b->gradients + ((const float *)parameter - b->weights);
}

#endif
