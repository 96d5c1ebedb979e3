#include "model/kernels/log_sum_exp.h"

#include "model/kernels/sampling_kernels.h"

#include <math.h>

double log_sum_exp_terms(float *y, double *sum, const float *x, size_t n)
{
    const struct sampling_kernels *k = sampling_kernels();
    const float high = k->max(x, n);
    *sum = k->exp_sum(y, x, n, high, 1);
    return (double)high + log(*sum);
}

double log_sum_exp(const float *x, size_t n)
{
    double sum;
    return log_sum_exp_terms(NULL, &sum, x, n);
}
