#ifndef PRATTLE_MODEL_KERNELS_TRAINING_KERNELS_H
#define PRATTLE_MODEL_KERNELS_TRAINING_KERNELS_H
/*
 * Gradients of the operations over rows, and dropout.
 */
#include "model/kernels/activation.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Which elements a dropout keeps (Srivastava et al. 2014): those whose Philox word is
 * below keep. Element i of a row is word i % 64 / 16 of counter 16 (block + i / 64) +
 * i % 16 of (seed, stream), so a mask depends on where an element is and on nothing else.
 */
struct dropout {
    uint64_t seed;
    uint32_t keep; /* of 2^32; 0: dropout is off, the kernel not to be called */
    float scale;   /* 2^32 / keep: the mean stays */
};

struct training_kernels {
    /* layernorm's gradients, added to dx [n], dweight [n] and dbias [n]. */
    void (*layernorm_grad)(float *dx, float *dweight, float *dbias, const float *dy, const float *x,
                           const float *weight, size_t n, float epsilon);
    /* dy *= f'(x), f the activation that `which` is. */
    void (*activation_grad)(float *dy, const float *x, size_t n, enum activation which);
    /* y = x scale where kept, else 0; y may be x. */
    void (*dropout)(float *y, const float *x, size_t n, const struct dropout *d, uint64_t stream,
                    uint64_t block);

    float (*dot)(const float *x, const float *y, size_t n); /* sum of x y */
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct training_kernels *training_kernels(void);

#endif
