#ifndef PRATTLE_TRAIN_RUN_SCATTER_H
#define PRATTLE_TRAIN_RUN_SCATTER_H
/*
 * The gradients of a run with zero=2 (train/parallel/reduce_scatter.h). With any other, or in a
 * world of one, r->scatter is NULL, and none of these functions does anything.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run;
struct step_config;

/* Whether a run has such gradients. */
bool run_scatter_is_on(const struct run *r);
/* bounds [size + 1]: of the slices; stopped: whether the step is not to go on, which is asked while
 * others are waited for. ERR_NOMEM. */
int run_scatter_open(struct run *r, const size_t *bounds, bool (*stopped)(struct run *r));
void run_scatter_close(struct run *r);
/* A step was made, of such a configuration. */
void run_scatter_fit_step(struct run *r);
/* How many of a step's micro-batches are this rank's, and how many of the step's windows lie before
 * that of r->micro. */
int run_scatter_micro(const struct run *r);
uint64_t run_scatter_offset(const struct run *r);
/* A step begins, with gradients of zero; on every rank, also where it then gives nothing. */
void run_scatter_begin(struct run *r);
/* A block has ended, and r->sum, what it comes to, begins anew. */
void run_scatter_end_block(struct run *r);
/* All ranks' blocks have ended: r->sum is the step's. */
void run_scatter_finish(struct run *r);
/* The step does not go on: nothing of it is left under way. */
void run_scatter_abandon(struct run *r);
/* For the optimizer: the gradients of the step, or of this rank's slice. */
const void *run_scatter_gradients(const struct run *r);

#endif
