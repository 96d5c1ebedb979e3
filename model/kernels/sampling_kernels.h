#ifndef PRATTLE_MODEL_KERNELS_SAMPLING_KERNELS_H
#define PRATTLE_MODEL_KERNELS_SAMPLING_KERNELS_H
/*
 * Work over a row of logits: extremes, sums of exponentials, lists of indices.
 */
#include <stddef.h>
#include <stdint.h>

struct sampling_kernels {
    float (*max)(const float *x, size_t n); /* -INFINITY for n = 0; NaN passed over */
    /* y = x, but -INFINITY for NaN and at most FLT_MAX; returns the max of y. */
    float (*sanitize)(float *y, const float *x, size_t n);
    size_t (*argmax)(const float *x, size_t n); /* the first of the greatest; 0 if all are NaN */
    /* y[i] = exp((x[i] - shift) * scale); returns their sum, kept in 16 double lanes.
     * y NULL: the sum alone; y may be x. */
    double (*exp_sum)(float *y, const float *x, size_t n, float shift, float scale);
    /* Indices i with least <= x[i] < below, ascending, into index (room for n); how many. */
    size_t (*select)(int32_t *index, const float *x, size_t n, float least, float below);
    /* y[i] = x[index[i]]; y may be x where the indices ascend. */
    void (*gather)(float *y, const float *x, const int32_t *index, size_t n);

    /* Sum of the y[i] with x[i] >= least, kept in 16 double lanes; x has no NaN. */
    double (*sum_least)(const float *y, const float *x, size_t n, float least);
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct sampling_kernels *sampling_kernels(void);

#endif
