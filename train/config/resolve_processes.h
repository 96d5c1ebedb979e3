#ifndef PRATTLE_TRAIN_CONFIG_RESOLVE_PROCESSES_H
#define PRATTLE_TRAIN_CONFIG_RESOLVE_PROCESSES_H
/* The settings of several processes. */
#include "train/config/run_config.h"

/* The processes there are decide how many replicas, but for a number that whoever began them says
 * too. ERR_RANGE: they cannot divide the model so, and how they can. */
int run_config_resolve_processes(struct run_config *c, const struct config *shape);

#endif
