#ifndef PRATTLE_TRAIN_OPTIM_OPTIMIZER_RUN_H
#define PRATTLE_TRAIN_OPTIM_OPTIMIZER_RUN_H
/*
 * Runs: what a thread steps at a time, as fp32. Opening one copies what is binary16; closing it
 * rounds that back. In a rehearsal all are copies, and closing them only looks at the weights.
 */
#include "model/kernels/optimizer_kernels.h"
#include "train/optim/optimizer_internal.h"

#include <stdatomic.h>

/* The arguments of a norm, a rehearsal or a step. */
struct optimizer_pass {
    struct optimizer *o;
    void *weights;
    const void *grads;
    struct adam_constants decaying, plain; /* for tensors with weight decay, and without */
    struct adam_constants momentum;        /* for the directions of Muon */
    atomic_bool *exceeds; /* a rehearsal: set if a weight would reach the limit; NULL: the step */
    float *rehearsed;     /* a rehearsal: [n], gets the weights; NULL: they are dropped */
};

/* A run in fp32: pointers into the blocks, or to the copies. */
struct optimizer_run {
    float *w, *m, *v; /* v NULL: Muon steps it */
    const float *g;
    size_t at, unit; /* index in the blocks, and of its unit in m_unit */
    size_t n;
    float w_copy[RUN], m_copy[RUN], v_copy[RUN], g_copy[RUN];
};

/* The run at element `from` of a piece, with its gradients alone. */
void optimizer_run_gradients(struct optimizer_run *r, const struct optimizer_pass *j,
                             const struct optimizer_piece *p, size_t from);
/* And with weights and moments. */
void optimizer_run_open(struct optimizer_run *r, const struct optimizer_pass *j,
                        const struct optimizer_piece *p, size_t from);
/* Store the first moment; nothing in a rehearsal. */
void optimizer_run_close_moment(struct optimizer_run *r, const struct optimizer_pass *j);
/* Store the weights; in a rehearsal, compare them with the limit. */
void optimizer_run_close_weights(struct optimizer_run *r, const struct optimizer_pass *j);

#endif
