#ifndef PRATTLE_TRAIN_CONFIG_PLAN_H
#define PRATTLE_TRAIN_CONFIG_PLAN_H
/*
 * What a resolved configuration comes to: a step, the steps of the run, the memory it takes.
 */
#include "train/config/run_config.h"
#include "train/step/step.h"

void run_config_step(const struct run_config *c, const struct config *shape,
                     struct step_config *out);
/* Passes over n_windows: training.epochs, or what its "auto" is. */
double run_config_epochs(const struct run_config *c, uint64_t n_windows);
/* Optimizer steps of the whole run, with n_windows an epoch; 0: only the clock ends it. */
int64_t run_config_steps(const struct run_config *c, uint64_t n_windows);
/* Hours by the clock after which it is over; 0: no limit. Another machine's hours, by
 * tokens_per_second, are among the steps. */
double run_config_end_hours(const struct run_config *c);
/* The memory that each process needs, in bytes. */
struct run_memory {
    double of_layers;   /* parameters, gradients, moments */
    double activations; /* of one micro-batch */
    double rest, disk;  /* disk: moments there, not in memory */
};
int run_config_memory(struct run_memory *out, const struct run_config *c,
                      const struct config *shape, enum dtype held);
/*
 * Nothing allocated: memory by part (parameters, gradients, moments, activations, logits,
 * scratch) beside what the machine has, batches, steps. held: the precision of the model to talk
 * to; n_tokens, n_windows: of an epoch, 0 while the data is not open.
 */
int run_config_plan(const struct run_config *c, const struct config *shape, enum dtype held,
                    uint64_t n_tokens, uint64_t n_windows, struct buf *out);

#endif
