#ifndef PRATTLE_TRAIN_RUN_RESUME_H
#define PRATTLE_TRAIN_RUN_RESUME_H
/*
 * How a run goes on from a checkpoint: opened, checked against what is asked for, begun. What was
 * checked is what is used: its configuration is read once, and the files of its state, weights and
 * optimizer stay open from when their checksums were taken.
 */
#include "train/config/run_config.h"
#include "train/run/checkpoint.h"
#include "train/run/events.h"
#include "weights/load.h"

struct resume {
    struct checkpoint checkpoint; /* verified */
    struct run_config stored;     /* what it was written with; its folder is where it is now */
    struct model_files model;     /* its weights, from the first check on */
    struct run_config was;        /* stored, resolved for their shape */
    struct run_config config;     /* what it goes on under, resolved too */
    const struct progress *progress;
};

/* path as checkpoint_open. On failure q is closed. */
int run_resume_open(struct resume *q, const char *path, const struct progress *p);
void run_resume_close(struct resume *q);
/*
 * What can be refused before the model in memory makes room: to go on under c, not resolved.
 * ERR_MISMATCH names what of c is not as the checkpoint's (its model, data, batch; rates, lengths
 * and cadences may change); ERR_EXISTS: c names another folder, which has a run. Repeatable.
 */
int run_resume_check(struct resume *q, const struct run_config *c);
/*
 * Go on as was checked, with the checkpoint's model m. ERR_MISMATCH: the data themselves have
 * changed. In the checkpoint's own folder newer checkpoints are set aside; in another the run
 * begins anew.
 */
int run_resume(struct run **out, struct resume *q, struct model *m, const struct run_events *e);

#endif
