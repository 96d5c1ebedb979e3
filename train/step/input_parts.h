#ifndef PRATTLE_TRAIN_STEP_INPUT_PARTS_H
#define PRATTLE_TRAIN_STEP_INPUT_PARTS_H
/*
 * Inputs of recomputed layers in parts (replicated tensor sharding). With tensor parallelism they
 * are the same in all processes (model/shard.h): each keeps some of their rows, and has the others'
 * from them when the layer is computed again. Whole they are in one place that all such layers have
 * in common, since a layer has read its input before it writes the next one's.
 *
 *   forward     x of layer 0 in the place, own rows kept | layer 0 | x of layer 1 there, kept | ...
 *   backward    ... | own rows and the others' to the place: x of layer 0 | layer 0 again
 *
 * The place is that of the last layer's output, which the backward is done with first. In a
 * pipeline it is one for all slots, if any has parts, and what a stage receives or sends stays
 * whole.
 */
#include "model/forward.h"
#include "model/shard.h"

struct input_parts {
    const struct shard *shard; /* with a link; NULL: inputs are whole */
    int n_rows;
    size_t row_bytes; /* as they are saved: float32, or binary16 */
    void *place;      /* [n_rows,row_bytes] */
    bool taken;
};

/* Mark layers [L] of a range whose inputs are in parts, of those that are recomputed. */
void input_parts_find(bool *divided, const bool *recompute, const struct activation_range *range);
/* This process's part of one. */
void *input_parts_take(const struct input_parts *k, struct arena *a);
/* Keep own rows of what is in the place; or fill the place, from own rows and the others'. part
 * NULL: do nothing. By every thread of the job; end with a barrier. */
void input_parts_keep(const struct input_parts *k, void *part, int thread, int n_threads);
void input_parts_gather(const struct input_parts *k, const void *part, int thread, int n_threads);

#endif
