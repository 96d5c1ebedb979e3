#ifndef PRATTLE_TRAIN_STEP_SAVED_H
#define PRATTLE_TRAIN_STEP_SAVED_H
/*
 * The saved activations of a float16 step. They are stored in binary16, layer by layer, while
 * passes work on one set of fp32 buffers, into which the backward loads each layer's again. The
 * forward pass rounds its activations to binary16 before it reads them (forward.h: half), so
 * storing loses nothing.
 */
#include "model/forward.h"

struct saved_layer {
    uint16_t *x;    /* [rows,C], the layer's input; for "layer" L, the last layer's output */
    uint16_t *rest; /* the other activations, one array after another; NULL: recomputed from x */
};
struct saved {
    struct saved_layer *layers; /* [L+1]; NULL: float32, where the buffers themselves are saved */
    size_t x_n, rest_n;         /* elements of x and rest of a layer */
};

/* The passes' fp32 buffers, which all layers and micro-batches share, except that x of layers of
 * odd and even number differ, since a layer writes the next layer's x. */
struct saved_common {
    struct activations set;
    float *x[2], *lse;
    bool taken;
};
/* Carve the saved activations of a range of layers, and, unless they are, those buffers: layers
 * [L+1] (NULL while sizing). recompute [L]: layers that save x alone. */
void saved_carve(struct saved *k, struct activations *layers, struct arena *a,
                 const struct config *c, int rows, const bool *recompute,
                 struct activation_range range, struct saved_common *common);
/* Save a layer's activations and its output, x of layer + 1. This and the next three functions do
 * this thread's share, without a barrier, and do nothing in float32. */
void saved_store(const struct saved *k, const struct activations *layers, int layer, int thread,
                 int n_threads);
/* Save x of layer 0, after the embedding. */
void saved_store_first(const struct saved *k, const struct activations *layers, int thread,
                       int n_threads);
/* Load x of a layer. */
void saved_load_x(const struct saved *k, const struct activations *layers, int layer, int thread,
                  int n_threads);
/* Load what a layer's recomputation and backward need. */
void saved_load(const struct saved *k, const struct activations *layers, int layer, int thread,
                int n_threads);

#endif
