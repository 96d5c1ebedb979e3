#ifndef PRATTLE_TRAIN_CONFIG_DEVICES_H
#define PRATTLE_TRAIN_CONFIG_DEVICES_H
/* Which process of a pipeline has what of a model, and how much memory that takes. */
#include "train/config/run_config.h"
#include "train/step/step_config.h"

/* How many stages a configuration has. */
int run_config_stages(const struct run_config *c);
/*
 * A table with a row for each process: its rank, its host once there is one, its layers, its memory.
 *
 * step  the run's, of the whole model
 * held  the precision of the model to talk to
 */
int run_config_devices(const struct run_config *c, const struct config *shape,
                       const struct step_config *step, enum dtype held, struct buf *out);

#endif
