#ifndef PRATTLE_TRAIN_STEP_BACKWARD_PASS_H
#define PRATTLE_TRAIN_STEP_BACKWARD_PASS_H
/*
 * The buffers of a backward pass: the forward pass it differentiates, the gradients it adds to, and
 * scratch. dNAME is the gradient of the loss with respect to NAME; rows are the positions of all
 * sequences of the micro-batch, one sequence after another.
 */
#include "model/forward.h"

/* Gradients of a layer norm's weight and bias are summed over runs of so many rows of a sequence
 * first. */
enum { NORM_ROWS = 32 };

/* Shared by all threads. */
struct backward {
    struct forward *f; /* its params are the view in struct weights (weights.h) */
    const struct forward_seq *seqs;
    int n_seqs, rows;
    const float *weights; /* [n]: the gradient of weights[i] is gradients[i] */
    float *gradients;     /* [n], added to */
    bool frozen;          /* the model is frozen: only LoRA branches have gradients */
    float *dx;            /* [rows,C], of the residual stream */
    float *branch;        /* [rows,C], of a block's contribution to it, then of the output of the
                             block's layer norm */
    float *datt;          /* [rows,A], of the heads' outputs */
    float *dqkv;          /* [rows,3A] */
    float *dfc;           /* [rows,F] */
    float *dinner;        /* [rows,rank], of drop(x) A^T in a LoRA branch */
    float *norm_sums;     /* [n_seqs][ceil(length / NORM_ROWS)][2][C], of a layer norm's weight and
                             bias */
    struct embedding_gradient *embedding; /* of the rows of wte that the step's tokens have used */
    bool half;            /* gradients of weights are rounded to binary16 after each sequence */
    int length;           /* of the longest sequence that the scratch has room for */
    int attention_pieces; /* into which its queries are divided; 0: as fits the CPU cache */
    char *thread_scratch; /* [n_threads][thread_bytes]: backward_attention_scratch_bytes each */
    size_t thread_bytes;
};

/* One thread's part in the pass. */
struct backward_thread {
    const struct backward *b;
    int thread, n_threads;
    char *scratch; /* this thread's own, aligned to 64 */
};

/* Where the gradient of a parameter in b->weights is. */
static inline float *backward_gradient(const struct backward *b, const void *parameter)
{
    return b->gradients + ((const float *)parameter - b->weights);
}

#endif
