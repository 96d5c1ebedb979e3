#ifndef PRATTLE_TRAIN_RUN_SPEED_H
#define PRATTLE_TRAIN_RUN_SPEED_H
/*
 * What the speed of training is compared with: the operations that a token needs, and how many
 * operations per second a matrix product does here on products of the model's shapes.
 */
#include "model/config.h"
#include "model/kernels/product.h"

/*
 * To train on one of T positions: three times the forward's 2 N + 2 L C T, N the weights
 * that are multiplied, causal attention at half its square.
 */
double speed_token_flops(const struct config *c, int T, bool frozen);
/* What recomputing the activations of n_layers layers adds to that, without attention: a layer's
 * forward except its last matrix. */
double speed_recompute_flops(const struct config *c, int n_layers);
/*
 * Operations a second of OpenBLAS over the whole team on a step's products: the four of a
 * layer over `rows` positions and, unless loss_rows is 0, the head's over slices of
 * loss_rows, each forward and both ways backward, as often as they come in a step; each at
 * its best: of three, and small ones of hundreds, which take milliseconds together. 0: no memory,
 * no OpenBLAS, or interrupted.
 */
double speed_sgemm_flops(const struct config *c, int rows, int loss_rows);
/* The same of the engine in use with these factors (product.h), at a look: of the layers alone,
 * over no more rows than it takes to see it, and large products once. Not while a job runs. */
double speed_sgemm_estimate(const struct config *c, int rows, enum product_factors factors);

#endif
