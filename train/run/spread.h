#ifndef PRATTLE_TRAIN_RUN_SPREAD_H
#define PRATTLE_TRAIN_RUN_SPREAD_H
/*
 * The weights that replicas have updated a part of each (zero=1, 2), to all of them; unless all are
 * on one host, while the next step begins (train/parallel/spread.h). Its first forward pass waits
 * for each layer's; whatever else reads weights, or changes them, finishes that first. Without such
 * replicas r->spread is NULL, and none of these functions does anything.
 */
#include <stddef.h>

struct run;

/* Of replicas that divide what they update. bounds [n_spans][replicas + 1]: where the slices begin
 * of what this rank computes with. ERR_NOMEM. */
int run_spread_open(struct run *r, int n_spans, const size_t *bounds);
void run_spread_close(struct run *r);
/* A step was made. */
void run_spread_fit_step(struct run *r);
/* By all replicas, after a step of the optimizer. */
void run_spread_begin(struct run *r);
/* All weights are whole. */
void run_spread_finish(struct run *r);

#endif
