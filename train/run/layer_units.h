#ifndef PRATTLE_TRAIN_RUN_LAYER_UNITS_H
#define PRATTLE_TRAIN_RUN_LAYER_UNITS_H
/*
 * What a rank computes with, in the units in which gradients go to other ranks and weights come
 * from them: its layers, and on the rank that has them the tensors behind all layers and those
 * before them.
 *
 *   backward    last layer ... first layer | behind | before
 *   forward     before | behind | first layer ... last layer
 */
#include "train/parallel/unit_slices.h"
#include "train/step/weights.h"

struct layer_units {
    int n;
    struct sliced_unit *units; /* [n] */
    int *of_layer;             /* [L], of the layers that there are here */
    int outside;               /* the later of the two outside the layers; none here: the last */
};

enum layer_order { UNITS_BACKWARD, UNITS_FORWARD };

/* ERR_NOMEM; what there is then is to be released too. */
int layer_units_init(struct layer_units *u, const struct weights *w, enum layer_order order);
void layer_units_release(struct layer_units *u);
/* layer -1: outside the layers. */
int layer_units_of(const struct layer_units *u, int layer);

#endif
