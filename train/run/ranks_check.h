#ifndef PRATTLE_TRAIN_RUN_RANKS_CHECK_H
#define PRATTLE_TRAIN_RUN_RANKS_CHECK_H
/* Whether the runs of several ranks are one. */

struct run;

/*
 * By all, once each has its run: whether the ranks have the same settings, data, weights,
 * vocabulary and program. ERR_MISMATCH: what differs, and on which rank, on all ranks. 0 in a world
 * of one.
 */
int run_ranks_check(const struct run *r);

#endif
