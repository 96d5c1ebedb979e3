#ifndef PRATTLE_TRAIN_CONFIG_PHASED_PLAN_H
#define PRATTLE_TRAIN_CONFIG_PHASED_PLAN_H
/*
 * What of a run with phased=on stays in memory, and what it reads and writes. Kept is what would be
 * read and written most often for its size, as long as there is room: the gradients of the residual
 * stream, then weights of layers, inputs of layers, gradients of layers, those outside of blocks,
 * and moments.
 */
#include "train/config/run_config.h"
#include "train/step/phased_memory.h"
#include "train/step/weights_disk.h"

/* What a step reads and writes together, by when; in bytes. */
struct phased_traffic {
    /* Of a layer that is not kept: read in each direction; written in the backward. */
    double weights;
    double gradients;
    /* Of each layer besides, as a mean: inputs, and gradients of the residual stream. */
    double forward;
    double backward;
    double loss;  /* of the same, and the gradients outside the layers, where blocks are several */
    double alone; /* of the embeddings, while hardly anything is computed */
    double optimizer;
};

struct phased_plan {
    bool streams;                 /* false: the run has its weights in memory */
    struct weights_place weights; /* both without a folder */
    struct phased_place place;
    size_t n_moments_kept; /* those of so many parameters */
    double memory;         /* of weights, gradients, inputs and moments together, at its peak */
    double all;            /* and of all else; in bytes */
    double disk;           /* room for the working files */
    double read, write;    /* a step, in bytes */
    struct phased_traffic traffic;
};

/* A run of a resolved configuration, with its step's, beside a model that takes so many bytes.
 * ERR_NOMEM: execution.memory is less than one layer at a time needs. */
int phased_plan(struct phased_plan *out, const struct run_config *c, const struct config *shape,
                const struct step_config *s, double model_bytes);

#endif
