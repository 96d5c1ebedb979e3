#ifndef PRATTLE_TRAIN_CONFIG_DEVICES_H
#define PRATTLE_TRAIN_CONFIG_DEVICES_H
/* Which process of a replica of several has what of a model, and how much memory that takes. */
#include "train/config/run_config.h"
#include "train/parallel/layout_slots.h"
#include "train/step/step_config.h"

/* How many processes a replica is: stages of a pipeline, or ranks of tensor parallelism. */
int run_config_replica(const struct run_config *c);
/* Bytes that a process takes whatever its model. */
double run_config_program(const struct run_config *c);
/* zero=2: bytes that a replica keeps of the summed gradients of n elements, in nodes of the tree.
 */
double run_config_slices(const struct run_config *c, double n);
/*
 * A table with a row for each process: its rank, its host once there is one, its layers or heads,
 * its memory.
 *
 * step  the run's, of the whole model
 * held  the precision of the model for prompts
 */
int run_config_devices(const struct run_config *c, const struct config *shape,
                       const struct step_config *step, enum dtype held, struct buf *out);
/* Bytes of each process: [replicas * run_config_replica()]. */
int run_config_device_bytes(double *bytes, const struct run_config *c, const struct config *shape,
                            const struct step_config *step, enum dtype held);
/* Bytes of the process that has most, of such a replica. slots: of pipelines that were asked for.
 */
int run_config_device_most(double *out, const struct run_config *c, const struct config *shape,
                           const struct step_config *step, enum dtype held,
                           struct layout_slots *slots);
/* Not more than that, whatever the order of its pipeline, which is not followed. */
int run_config_device_least(double *out, const struct run_config *c, const struct config *shape,
                            const struct step_config *step, enum dtype held);

#endif
