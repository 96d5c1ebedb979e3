#ifndef PRATTLE_TRAIN_RUN_CHECK_H
#define PRATTLE_TRAIN_RUN_CHECK_H
/*
 * Reasons to refuse a run, found before the model in memory is replaced for it.
 */
#include "model/model.h"
#include "train/config/run_config.h"

/*
 * Everything that can be checked before the model in memory is replaced. Resolves c for the shape.
 *
 * m        the model that would be trained; NULL: one that c names
 * returns  0; ERR_RANGE: settings contradict each other or the shape; ERR_MISSING: data is not
 *          there; ERR_EXISTS: m has an adapter; ERR_MISMATCH: m's weights are in no file that an
 *          adapter's checkpoint could name as its base
 */
int run_check_first(struct run_config *c, const struct config *shape, const struct model *m);

/* ERR_EXISTS: the resolved run would begin in a folder that has another's checkpoints, a model, or
 * the texts that it trains on. */
int run_check_new(const struct run_config *resolved);
/* ERR_EXISTS: the folder has checkpoints of another run. */
int run_refuse_old(const char *folder);
/* Whether m can be trained by c. Errors as run_check_first. */
int run_check_model(const struct run_config *c, const struct model *m);
/* Whether the files of data and evaluation exist, and what wandb needs. */
int run_check_inputs(const struct run_config *c);
/* The same but for the data, which a run in memory has open. */
int run_check_reports(const struct run_config *c);

#endif
