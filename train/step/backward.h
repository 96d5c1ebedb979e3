#ifndef PRATTLE_TRAIN_STEP_BACKWARD_H
#define PRATTLE_TRAIN_STEP_BACKWARD_H
/*
 * The gradients of model/forward.c's operations, each named as its forward, from the
 * activations that a pass left in its buffers. By every thread of a running job, as the
 * forward; each ends with a barrier. Sums over positions run in an order that the shape
 * alone decides.
 */
#include "train/step/backward_pass.h"

/* dx of ln_f's input from branch, the gradient of its output. */
void backward_final_norm(const struct backward_thread *p);
/* dx of a layer's input from that of its output. */
void backward_layer(const struct backward_thread *p, int layer);
/* The gradients of the embeddings from dx. */
void backward_embedding(const struct backward_thread *p);

#endif
