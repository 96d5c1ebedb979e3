#ifndef PRATTLE_TRAIN_RUN_SCATTER_H
#define PRATTLE_TRAIN_RUN_SCATTER_H
/*
 * The gradients of a run with zero=2 (train/parallel/reduce_scatter.h). With any other, or of one
 * replica, r->scatter is NULL, and the functions that return nothing do nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run;
struct step_config;

/* Whether a run has such gradients. */
bool run_scatter_is_on(const struct run *r);
/* bounds [n_spans][replicas + 1]: where the slices begin of what this rank computes with; stopped:
 * whether the step is not to go on, which is asked while others are waited for. ERR_NOMEM, or
 * ERR_UNSUPPORTED: MPI has no threads. */
int run_scatter_open(struct run *r, int n_spans, const size_t *bounds,
                     bool (*stopped)(struct run *r));
void run_scatter_close(struct run *r);
/* A step was made, of such a configuration. */
void run_scatter_fit_step(struct run *r);
/* How many of a step's micro-batches are this rank's, and how many of the step's windows lie before
 * those of one. */
int run_scatter_micro(const struct run *r);
uint64_t run_scatter_offset(const struct run *r, int micro);
/* The next windows are of that one: where a block begins, others have the windows between. */
void run_scatter_seek(struct run *r, int micro);
/* A step begins, with gradients of zero; on every rank, also where it then gives nothing. */
void run_scatter_begin(struct run *r);
/* Whether a micro-batch, whose block may be another than the one before it, may add to the
 * gradients of a layer, and of those above it; -1: outside the layers. For a part of a pass, which
 * does not wait for memory (step_stage.h). */
bool run_scatter_is_ready(const struct run *r, int micro, int layer);
/* Of shards, which do not wait for memory either once they compute: until r->micro may add to all.
 * *stopped: the step does not go on, by ERR_INTERRUPTED for this rank itself. */
int run_scatter_await(struct run *r, bool *stopped);
/* A block has ended, and r->sum, what it comes to, begins anew. */
void run_scatter_end_block(struct run *r);
/* All ranks' blocks have ended: r->sum is the step's. */
void run_scatter_finish(struct run *r);
/* The step does not go on: nothing of it is left under way. */
void run_scatter_abandon(struct run *r);
/* Where there are such gradients: this rank's slices of the step's, of what it computes with, from
 * element *first on. */
const void *run_scatter_slices(const struct run *r, size_t *first);
/* For the optimizer: the gradients of the step, or of this rank's slice. */
const void *run_scatter_gradients(const struct run *r);

#endif
