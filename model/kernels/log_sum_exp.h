#ifndef PRATTLE_MODEL_KERNELS_LOG_SUM_EXP_H
#define PRATTLE_MODEL_KERNELS_LOG_SUM_EXP_H
/*
 * ln sum_i exp(x[i]) over a row of logits x [n], in double, as max x + ln sum_i exp(x[i] - max x);
 * the sum runs in the lanes of sampling_kernels.h. x[i] - log_sum_exp(x, n) is a log-probability.
 * NaN where x has one, or is -infinity throughout.
 */
#include <stddef.h>

double log_sum_exp(const float *x, size_t n);
/* The same; y [n] receives exp(x - max x), and *sum their sum, so that y / sum is the softmax. y
 * may be x. */
double log_sum_exp_terms(float *y, double *sum, const float *x, size_t n);

#endif
