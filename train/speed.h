#ifndef PRATTLE_SPEED_H
#define PRATTLE_SPEED_H
/*
 * What the speed of training is held against: the operations a token needs, and how many
 * the machine's matrix product does a second on products of the model's shape.
 */
#include "model/config.h"

/*
 * To train on one of T positions: three times the forward's 2 N + 2 L C T, N the weights
 * that are multiplied, causal attention at half its square.
 */
double speed_token_flops(const struct config *c, int T);
/*
 * Operations a second of OpenBLAS over the whole team on [rows,C] x [C,F], the largest
 * product of a layer; the best of what fits into a tenth of a second. 0: no memory.
 */
double speed_sgemm_flops(const struct config *c, int rows);

#endif
