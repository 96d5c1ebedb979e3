#ifndef PRATTLE_MODEL_KERNELS_SAMPLING_KERNELS_H
#define PRATTLE_MODEL_KERNELS_SAMPLING_KERNELS_H
/*
 * Operations over a row x [n] of logits: extremes, sums of exponentials, selection of indices.
 */
#include <stddef.h>
#include <stdint.h>

struct sampling_kernels {
    float (*max)(const float *x, size_t n); /* -INFINITY for n = 0; NaN is ignored */
    /* y = x with NaN as -INFINITY and values above FLT_MAX as FLT_MAX. Returns the maximum of y. */
    float (*sanitize)(float *y, const float *x, size_t n);
    size_t (*argmax)(const float *x, size_t n); /* the first maximum; 0 if all are NaN */
    /* y[i] = exp((x[i] - shift) scale). Returns the sum of y, accumulated in 16 double lanes.
     * y may be x, or NULL for the sum alone. */
    double (*exp_sum)(float *y, const float *x, size_t n, float shift, float scale);
    /* index [n] receives the i with least <= x[i] < below, ascending. Returns how many. */
    size_t (*select)(int32_t *index, const float *x, size_t n, float least, float below);
    /* The same for x[i] >= least, where y [n], which is not x, keeps only its own elements at these
     * i, in place; x has no NaN. *sum is theirs, accumulated in 16 double lanes. */
    size_t (*keep)(int32_t *index, float *y, const float *x, size_t n, float least, double *sum);
    /* y[i] = x[index[i]], i < n; y may be x if the indices ascend. */
    void (*gather)(float *y, const float *x, const int32_t *index, size_t n);

    /* The sum of y[i] over the i with x[i] >= least, accumulated in 16 double lanes; x has no
     * NaN. */
    double (*sum_least)(const float *y, const float *x, size_t n, float least);
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct sampling_kernels *sampling_kernels(void);

#endif
