#ifndef PRATTLE_TRAIN_RUN_CHECK_H
#define PRATTLE_TRAIN_RUN_CHECK_H
/*
 * What a run would be refused for, found before the model makes way for it.
 */
#include "model/model.h"
#include "train/config/run_config.h"

/* What can be refused before the model in memory makes room for another: settings that do not go
 * together or with the model's shape, data that is not there, a folder that has a run; an adapter
 * beside the model (ERR_EXISTS), weights in no file that the run's own could refer to
 * (ERR_MISMATCH). c is resolved for the model's shape. m: the model that would be trained, NULL:
 * one that c names. */
int run_check_first(struct run_config *c, const struct config *shape, const struct model *m);

/* ERR_EXISTS where another run's checkpoints are. */
int run_refuse_old(const char *folder);
/* What a model cannot be trained for. */
int run_check_model(const struct run_config *c, const struct model *m);
/* Data and evaluation are there. */
int run_check_inputs(const struct run_config *c);

#endif
