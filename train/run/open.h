#ifndef PRATTLE_TRAIN_RUN_OPEN_H
#define PRATTLE_TRAIN_RUN_OPEN_H
/*
 * How a run comes about, and goes.
 */
#include "train/run/events.h"

struct model;
struct model_files;
struct run_config;

/*
 * A new run on a model, before its first step. ERR_EXISTS: the run's folder has checkpoints
 * already, or another trainer is at work there.
 *
 * c, e  copied; c is resolved
 * m     borrowed until run_free
 * open  the files that m was just read from, or NULL
 */
int run_new(struct run **out, const struct run_config *c, struct model *m,
            const struct model_files *open, const struct run_events *e);
/* By all ranks, once each has its run (rc 0) or has none, for rc: whether they train together. As
 * run_ranks_check (ranks_check.h); in a world of one it is rc. */
int run_join(struct run *r, int rc);
/* NULL-safe. What is not in a checkpoint by now is lost; the run folder's lock is given back. */
void run_free(struct run *r);

/* What a new run and one that goes on have in common, in a zeroed run: run_free takes it back,
 * half-built too, and with it run_drop a folder that it has made. */
int run_build(struct run *r, const struct run_config *c, struct model *m,
              const struct model_files *open, const struct run_events *e);
void run_drop(struct run *r);

#endif
