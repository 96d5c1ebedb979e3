#ifndef PRATTLE_TRAIN_CONFIG_PLAN_SOURCES_H
#define PRATTLE_TRAIN_CONFIG_PLAN_SOURCES_H
/*
 * What the sources of a mixture come to in a run.
 */
#include "train/data/batches.h"

struct buf;

/*
 * Append the tokens and windows of each source, its share in each phase, and how many times all its
 * windows are read; nothing where the data is no mixture. b is planned.
 *
 * n_steps  of the run; 0: not known, and so is how often
 */
int run_config_plan_sources(const struct dataset *d, const struct batches *b, int64_t n_steps,
                            int per_step, struct buf *out);

#endif
