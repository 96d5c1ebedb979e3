#ifndef PRATTLE_MODEL_RANDOM_H
#define PRATTLE_MODEL_RANDOM_H
/*
 * GPT-2 freshly initialised (Radford et al. 2019): normal(0, initializer_range), the
 * projections into the residual stream scaled by 1 / sqrt(2 L), biases 0, LayerNorm 1
 * and 0. Nothing is stored: each element is a function of (seed, tensor, position).
 */
#include "model/params.h"

/* One tensor: normals of one stream times scale, or one value everywhere. */
struct random_tensor {
    uint64_t seed, stream;
    float scale; /* 0: constant */
    float constant;
};

/* t: entry number `stream` of the table of tensors of a model of shape c. */
struct random_tensor random_tensor_init(const struct param_tensor *t, uint64_t stream,
                                        const struct config *c, uint64_t seed);
/* Elements first .. first+n-1. */
void random_tensor_read(const struct random_tensor *r, float *out, uint64_t first, size_t n);

#endif
