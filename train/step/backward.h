#ifndef PRATTLE_TRAIN_STEP_BACKWARD_H
#define PRATTLE_TRAIN_STEP_BACKWARD_H
/*
 * Backpropagation through model/forward.c, from the activations that a forward pass saved. The
 * caller runs backward_final_norm, backward_layer for layers L - 1 to 0, and backward_embedding.
 * Every thread of the job calls each function with its own backward_thread; each ends with a
 * barrier. The order of sums over positions depends on shapes alone.
 */
#include "train/step/backward_pass.h"

/* dx = the gradient of ln_f's input, from branch, the gradient of its output. */
void backward_final_norm(const struct backward_thread *p);
/* dx, the gradient of a layer's output, becomes that of its input. */
void backward_layer(const struct backward_thread *p, int layer);
/* Add the gradients of wte and wpe, from dx, that of layer 0's input. */
void backward_embedding(const struct backward_thread *p);

#endif
