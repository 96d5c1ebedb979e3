#ifndef PRATTLE_TRAIN_STEP_SAVED_H
#define PRATTLE_TRAIN_STEP_SAVED_H
/*
 * The saved activations of a float16 step: what the forward leaves for the backward lies in
 * binary16, layer by layer, and passes work on one fp32 set, which has each layer's in its turn.
 * The forward rounds what it leaves there (forward.h: half), so that nothing is lost on the way.
 */
#include "model/forward.h"

struct saved_layer {
    uint16_t *x;    /* [rows,C] what comes in; of "layer" L, what leaves the last */
    uint16_t *rest; /* the others of struct activations; NULL: recomputed from x */
};
struct saved {
    struct saved_layer *layers; /* [L+1]; NULL: all is saved in fp32 */
    size_t x_n, rest_n;
};

/* The one list of what that takes. layers [L+1], or NULL while sizing, is where the passes
 * work: neighbours have other x, since each writes the next one's. */
void saved_carve(struct saved *k, struct activations *layers, struct arena *a,
                 const struct config *c, int rows, const bool *recompute);
/* What a layer made; with what comes into the next. This thread's share, no barrier. */
void saved_store(const struct saved *k, const struct activations *layers, int layer, int thread,
                 int n_threads);
/* x of layer 0, after the embedding. */
void saved_store_first(const struct saved *k, const struct activations *layers, int thread,
                       int n_threads);
/* All that a layer's backward, or its recomputation, begins with. */
void saved_load(const struct saved *k, const struct activations *layers, int layer, int thread,
                int n_threads);

#endif
