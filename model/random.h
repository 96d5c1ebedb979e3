#ifndef PRATTLE_MODEL_RANDOM_H
#define PRATTLE_MODEL_RANDOM_H
/*
 * Random initialization of GPT-2 (Radford et al. 2019): matrices and embeddings from
 * normal(0, initializer_range), GPT-2's projections into the residual stream scaled by 1 / sqrt(2
 * L); biases 0; layer norm weights 1. Each element is a function of seed, tensor and position, so
 * nothing is stored.
 */
#include "model/params.h"

/* One tensor: the normals of one stream (rng_normals) times scale, or a constant. */
struct random_tensor {
    uint64_t seed, stream;
    float scale; /* 0: every element is `constant` */
    float constant;
};

/* For t, which is tensor number `stream` of a model of configuration c. */
struct random_tensor random_tensor_init(const struct param_tensor *t, uint64_t stream,
                                        const struct config *c, uint64_t seed);
/* out [n] = elements first .. first + n - 1. */
void random_tensor_read(const struct random_tensor *r, float *out, uint64_t first, size_t n);

#endif
