#ifndef PRATTLE_MODEL_KERNELS_ROW_KERNELS_H
#define PRATTLE_MODEL_KERNELS_ROW_KERNELS_H
/*
 * Layer norm (Ba et al. 2016), elementwise arithmetic and conversion of rows of n elements.
 */
#include "model/kernels/q8_block.h"

#include <stddef.h>
#include <stdint.h>

struct row_kernels {
    /* y = (x - mean) / sqrt(variance + epsilon) * weight + bias, all [n]; the variance divides by
     * n. y may be x. */
    void (*layernorm)(float *y, const float *x, const float *weight, const float *bias, size_t n,
                      float epsilon);

    void (*add)(float *y, const float *x, size_t n);             /* y += x */
    void (*scale)(float *y, float a, size_t n);                  /* y *= a */
    void (*divide)(float *y, const float *x, float a, size_t n); /* y = x / a */
    void (*half_to_f32)(float *y, const uint16_t *x, size_t n);  /* y = x in fp32 */
    void (*half_from_f32)(uint16_t *y, const float *x,
                          size_t n); /* y = x in binary16, to nearest even */
    void (*quantize_q8)(struct q8_block *y, const float *x); /* y = x [32], as q8_quantize */
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct row_kernels *row_kernels(void);

#endif
