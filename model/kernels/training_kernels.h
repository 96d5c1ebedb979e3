#ifndef PRATTLE_MODEL_KERNELS_TRAINING_KERNELS_H
#define PRATTLE_MODEL_KERNELS_TRAINING_KERNELS_H
/*
 * Gradients of the operations over rows, dropout, and dot products.
 */
#include "model/kernels/activation.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A dropout (Srivastava et al. 2014) keeps the elements whose Philox word (model/base/rng.h) is
 * below `keep`. The word of element i of a row is word (i % 64) / 16 of counter
 * 16 (block + i / 64) + i % 16 of (seed, stream), so a mask depends on an element's position
 * alone.
 */
struct dropout {
    uint64_t seed;
    uint32_t keep; /* 2^32 (1 - p); 0: off, and the kernel must not be called */
    float scale;   /* 2^32 / keep, which preserves the mean */
};

struct training_kernels {
    /* The gradients of layernorm (row_kernels.h) from dy [n], added to dx, dweight and dbias [n].
     */
    void (*layernorm_grad)(float *dx, float *dweight, float *dbias, const float *dy, const float *x,
                           const float *weight, size_t n, float epsilon);
    /* dy[i] *= f'(x[i]), f the activation `which`. */
    void (*activation_grad)(float *dy, const float *x, size_t n, enum activation which);
    /* y[i] = x[i] scale where element i is kept, else 0; y may be x. */
    void (*dropout)(float *y, const float *x, size_t n, const struct dropout *d, uint64_t stream,
                    uint64_t block);

    float (*dot)(const float *x, const float *y, size_t n); /* sum x[i] y[i] */
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct training_kernels *training_kernels(void);

#endif
