#ifndef PRATTLE_TRAIN_RUN_RANKS_CHECK_H
#define PRATTLE_TRAIN_RUN_RANKS_CHECK_H
/* Whether what several ranks do is one. All of these by all ranks, at once; 0 in a world of one. */

struct run;
struct model;

/*
 * Once each has its run: whether the ranks have the same settings, data, weights, vocabulary and
 * program. ERR_MISMATCH: what differs, and on which rank, on all ranks.
 */
int run_ranks_check(const struct run *r);
/* The same of settings alone, each a line "NAME: VALUE". */
int ranks_check_settings(const char *own);
/* Of program, vocabulary and weights in memory. */
int ranks_check_model(struct model *m);

#endif
