#ifndef PRATTLE_TRAIN_STEP_MERGE_LIMIT_H
#define PRATTLE_TRAIN_STEP_MERGE_LIMIT_H
/*
 * Whether inference can hold the weights that an adapter in training makes: W + scale A^T B of
 * each of its matrices, none NaN, infinite or beyond fp16 where the model in memory is that.
 * Bounds from the sizes of W, A and B decide it nearly always; where they do not, the sums are
 * made as they are when they are shown.
 */
#include "train/step/weights.h"

#include <stdatomic.h>

struct merge_limit {
    const struct weights *weights; /* whose adapter it is; borrowed */
    float limit;                   /* that no merged weight's size may reach */
    double *largest;               /* [n_branches], the size of the largest of W; owned */
    bool *near;                    /* [n_branches], that the bounds do not decide; owned */
    double reach;                  /* while no element of A and B is larger, all is held */
    const float *trial;            /* what is looked at */
    atomic_int refused;            /* the first branch that is not held; INT_MAX: none */
};

/* held: what the model in memory is kept as. By all threads. */
int merge_limit_init(struct merge_limit *m, const struct weights *w, enum dtype held);
void merge_limit_release(struct merge_limit *m);
/* Whether with the A and B at data, laid out as the adapter's own, all merged weights are held;
 * m->refused then says which matrix has one that is not. By all threads. */
bool merge_limit_allows(struct merge_limit *m, const float *data);
/* As if nothing had been looked at. */
void merge_limit_clear(struct merge_limit *m);
/* The name of the matrix refused, "h.0.attn.c_attn"; NULL: none was. */
const char *merge_limit_refused(char out[64], const struct merge_limit *m);

#endif
