#ifndef PRATTLE_TRAIN_CONFIG_REGROUP_H
#define PRATTLE_TRAIN_CONFIG_REGROUP_H
/*
 * A replica of several processes when fewer are left than it has: another layout, by which the run
 * goes on with the same bits. Stages become fewer, about as long as each other; where not even one
 * is whole, its shards do.
 */
#include "train/config/run_config.h"
#include "train/parallel/layout.h"

enum { REGROUP_LAYERS = 4 * LAYOUT_MAX_STAGES };

struct regroup {
    int stages, tensor;          /* which are stages x tensor processes */
    char layers[REGROUP_LAYERS]; /* for layers_per_device */
};

/* For n processes, fewer than run_config_replica(c) and at least one, of a run that had begun. Not
 * all of them may be of use. */
void regroup_find(struct regroup *out, const struct run_config *c, int n);

#endif
