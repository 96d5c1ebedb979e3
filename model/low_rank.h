#ifndef PRATTLE_MODEL_LOW_RANK_H
#define PRATTLE_MODEL_LOW_RANK_H
/*
 * The LoRA branch of a linear layer (Hu et al. 2021): y = x W + b + scale drop(x) A^T B, where drop
 * is dropout in training. Training computes the branch with these functions; inference merges it
 * into W (model/adapter_switch.h).
 */
#include "model/pass.h"

struct low_rank {
    int layer, site; /* the matrix W: its layer, and its index there (schema_matrix) */
    int rank, K, N;  /* W is [K,N] */
    float scale;
    float *a; /* [rank,K]; borrowed from the adapter, as is b */
    float *b; /* [rank,N]: the transpose of lora_B in PEFT's files */
};

/* Scratch of a pass, shared by its LoRA branches, of which one at a time is computed. */
struct low_rank_scratch {
    float *dropped; /* drop(x): [rows, largest K]; NULL without dropout */
    float *inner;   /* drop(x) A^T: [rows, largest rank] */
};

/* y [rows,K] = drop(x), by d->adapter, which is on; y may be x. Each thread computes its share of
 * the rows; no barrier. */
void low_rank_drop(const struct low_rank *w, const struct forward_dropout *d, float *y,
                   const float *x, const struct forward_seq *seqs, int n_seqs, int thread,
                   int n_threads);
/* scratch->inner [rows,rank] = drop(x) A^T. Returns drop(x), which is x itself without dropout. To
 * be called by every thread of the job once x [rows,K] is complete; ends with a barrier.
 * kernels: this thread's product_scratch_bytes. */
const float *low_rank_inner(const struct low_rank *w, const struct low_rank_scratch *scratch,
                            const struct forward_dropout *d, const float *x,
                            const struct forward_seq *seqs, int n_seqs, int thread, int n_threads,
                            void *kernels);
/* y [rows,N] += scale drop(x) A^T B. To be called by every thread of the job once x [rows,K] and y
 * are complete; ends with a barrier. */
void low_rank_add(const struct low_rank *w, const struct low_rank_scratch *scratch,
                  const struct forward_dropout *d, float *y, const float *x,
                  const struct forward_seq *seqs, int n_seqs, int thread, int n_threads,
                  void *kernels);

#endif
