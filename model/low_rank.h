#ifndef PRATTLE_MODEL_LOW_RANK_H
#define PRATTLE_MODEL_LOW_RANK_H
/*
 * The LoRA branch of a matrix (Hu et al. 2021): y = x W + b + scale drop(x) A^T B.
 * Training computes it as it stands; for inference it is merged into the panels
 * (model/adapter_switch.h).
 */
#include "model/pass.h"

struct low_rank {
    int layer, site; /* the matrix: which one of which layer */
    int rank, K, N;
    float scale;
    float *a; /* [rank,K] */
    float *b; /* [rank,N]: the transpose of what PEFT's files call lora_B */
};

/* What LoRA branches need while a pass is under way, at most one of them at work. */
struct low_rank_scratch {
    float *dropped; /* [rows, the greatest K]; NULL where nothing is dropped */
    float *inner;   /* [rows, the greatest rank] */
};

/* y [rows,K] = x, what the pass drops before the branch dropped; y may be x. Each thread does
 * its share of the rows; no barrier. */
void low_rank_drop(const struct low_rank *w, const struct forward_dropout *d, float *y,
                   const float *x, const struct forward_seq *seqs, int n_seqs, int thread,
                   int n_threads);
/* scratch->inner [rows,rank] = drop(x) A^T; returns drop(x), which is x itself where nothing
 * is dropped. By every thread, x whole in all of them; ends with a barrier. */
const float *low_rank_inner(const struct low_rank *w, const struct low_rank_scratch *scratch,
                            const struct forward_dropout *d, const float *x,
                            const struct forward_seq *seqs, int n_seqs, int thread, int n_threads);
/* y [rows,N] += scale drop(x) A^T B. By every thread, x and y whole in all of them; ends with a
 * barrier. */
void low_rank_add(const struct low_rank *w, const struct low_rank_scratch *scratch,
                  const struct forward_dropout *d, float *y, const float *x,
                  const struct forward_seq *seqs, int n_seqs, int thread, int n_threads);

#endif
