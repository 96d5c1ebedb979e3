#ifndef PRATTLE_TRAIN_RUN_RESUME_H
#define PRATTLE_TRAIN_RUN_RESUME_H
/*
 * How a run goes on from a checkpoint.
 */
#include "train/run/checkpoint.h"
#include "train/run/events.h"

struct model;
struct run_config;

/* The same of what would go on from a checkpoint, under c, not settled. */
int run_check_resume(const struct checkpoint *cp, const struct run_config *c);
/* The configuration a checkpoint was written with, into c as run_config_init does; its
 * folder is the one the checkpoint is in now. */
int run_stored_config(struct run_config *c, const struct checkpoint *cp);
/*
 * Go on from a checkpoint, whose model m is (loaded from cp->path), under c. ERR_MISMATCH
 * names what of c is not as the checkpoint's (its model, data, batch; rates, lengths and
 * cadences may change), or says that the data themselves have changed. In the checkpoint's own
 * folder newer checkpoints are set aside; another must have none (ERR_EXISTS), and begins anew.
 */
int run_resume(struct run **out, const struct checkpoint *cp, const struct run_config *c,
               struct model *m, const struct run_events *e);

#endif
