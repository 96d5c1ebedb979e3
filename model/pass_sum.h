#ifndef PRATTLE_MODEL_PASS_SUM_H
#define PRATTLE_MODEL_PASS_SUM_H
/*
 * The sums of a forward pass over what several processes have (shard.h), as one thread of the team
 * takes part in them; each ends with a barrier, and the result is whole.
 */
#include "model/kernels/linear.h"
#include "model/pass.h"
#include "model/shard.h"

struct pass_sum {
    const struct shard *shard;
    int rows; /* of the pass */
    int thread, n_threads;
    void *scratch; /* for the kernels */
};

/* y [rows,N] = x W + b, of whose rows each process has some, and the columns of x that belong to
 * them. */
void pass_sum_rows(const struct pass_sum *p, const struct linear *w, float *y, const float *x);
/* x [rows,C] = the rows of wte of the sequences' tokens. */
void pass_sum_tokens(const struct pass_sum *p, const struct linear *wte, float *x,
                     const struct forward_seq *seqs, int n_seqs);

#endif
