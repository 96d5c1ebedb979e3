#ifndef PRATTLE_TRAIN_STEP_PHASED_INSIDE_H
#define PRATTLE_TRAIN_STEP_PHASED_INSIDE_H
/* A step larger than memory, as phased.c and phased_memory.c see it. */
#include "train/step/step_inside.h"
#include "train/step/weights_disk.h"

struct phased_step {
    struct step *step; /* its units; owned */
    struct phased_place place;
    struct disk_array *inputs;    /* [L+1][micro_batches], of input_bytes each */
    struct disk_array *residuals; /* [micro_batches], of residual_bytes each: dx */
    struct disk_array *outside;   /* [blocks], of outside_bytes each; NULL: one block */
    size_t input_bytes, residual_bytes, outside_bytes;
    size_t span_first[2], span_bytes[2]; /* of the gradients before the layers and behind them */
    struct gradient_blocks of_layer, of_span[2];
    token_id *ids, *labels; /* [micro_batches][rows] */
    uint64_t *sequences;    /* [micro_batches] */
    int n_added;
    struct step_result *sums; /* [blocks] */
    struct step_result result;
    int layer, gradient_layer; /* whose weights, and whose gradients, are entered; -1: none */
    int64_t unit;              /* the next one */
};

static inline size_t phased_rows(const struct step *x)
{
    return (size_t)x->config.batch * (size_t)x->config.length;
}

/* In bytes, where the gradients of a layer begin. */
static inline size_t phased_layer_first(const struct phased_step *k, int layer)
{
    return weights_disk_first(k->step->weights->disk, weights_section(layer));
}

#endif
