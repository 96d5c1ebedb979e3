#ifndef PRATTLE_MODEL_KERNELS_OPTIMIZER_KERNELS_H
#define PRATTLE_MODEL_KERNELS_OPTIMIZER_KERNELS_H
/*
 * The steps of the optimizers (train/optim/) over rows of weights and moments.
 */
#include <stddef.h>
#include <stdint.h>

/* A step of Adam and its kin (train/optim/optimizer.h), the same for all elements of a row. */
struct adam_constants {
    float scale, l2;            /* slope: fma(l2, w, g scale) */
    float beta1, rest1;         /* m' = fma(beta1, m, rest1 slope) */
    float beta2, rest2;         /* v' = fma(beta2, v, rest2 slope^2) */
    float correct_m, correct_v; /* u = m' correct_m / fma(sqrt(v'), correct_v, eps) */
    float eps;
    float keep, rate; /* adam: w' = fma(-rate, u, w keep) */
    float decay;      /* LAMB: u' = fma(decay, w, u) */
};

struct optimizer_kernels {
    double (*sum_squares)(const float *x, size_t n); /* in 16 double lanes */
    /* Moments and weights of n elements with gradients g; sums, if not NULL, receives the
     * sums of the squares of w before and of w' - w. */
    void (*adam)(double sums[2], float *w, float *m, float *v, const float *g, size_t n,
                 const struct adam_constants *d);
    /* LAMB in two halves: moments, and in sums those of the squares of w and u'; then,
     * from the moments, w' = fma(-rate, u', w). */
    void (*lamb_moments)(double sums[2], float *m, float *v, const float *w, const float *g,
                         size_t n, const struct adam_constants *d);
    void (*lamb_update)(float *w, const float *m, const float *v, size_t n, const struct adam_constants *d,
                      float rate);
    float (*max_abs)(const float *x, size_t n); /* 0 for n = 0; NaN passed over */
    /*
     * To one of the two neighbours, to the nearer the more likely: the mean is x, and what
     * binary16 has stays. Element i takes the word that dropout would (seed, stream, block).
     * Beyond 65504 it is 65504; x is no NaN.
     */
    void (*half_from_f32_random)(uint16_t *y, const float *x, size_t n, uint64_t seed, uint64_t stream,
                          uint64_t block);
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct optimizer_kernels *optimizer_kernels(void);

#endif
