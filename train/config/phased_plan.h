#ifndef PRATTLE_TRAIN_CONFIG_PHASED_PLAN_H
#define PRATTLE_TRAIN_CONFIG_PHASED_PLAN_H
/*
 * What of a run with phased=on stays in memory, and what it reads and writes. Kept is what would be
 * read and written most often for its size, as long as there is room: the gradients of the residual
 * stream, then weights of layers, then inputs of layers, then gradients of layers.
 */
#include "train/config/run_config.h"
#include "train/step/phased_memory.h"
#include "train/step/weights_disk.h"

/* What a step reads and writes, by when; in bytes. */
struct phased_traffic {
    double weights,
        gradients; /* of a layer that is not kept: read in each direction; written back */
    double forward,
        backward; /* of each layer besides: inputs, and gradients of the residual stream */
    double loss, optimizer; /* loss: with the gradients outside the layers, of several blocks */
};

struct phased_plan {
    bool streams;                 /* false: the run has its weights in memory */
    struct weights_place weights; /* both without a folder */
    struct phased_place place;
    double memory;      /* of weights, gradients, inputs and moments together, at its peak */
    double all;         /* and of all else; in bytes */
    double disk;        /* room for the working files */
    double read, write; /* a step, in bytes */
    struct phased_traffic traffic; /* the same */
};

/* A run of a resolved configuration, with its step's, beside a model that takes so many bytes.
 * ERR_NOMEM: execution.memory is less than one layer at a time needs. */
int phased_plan(struct phased_plan *out, const struct run_config *c, const struct config *shape,
                const struct step_config *s, double model_bytes);

#endif
