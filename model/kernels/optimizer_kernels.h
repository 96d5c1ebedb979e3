#ifndef PRATTLE_MODEL_KERNELS_OPTIMIZER_KERNELS_H
#define PRATTLE_MODEL_KERNELS_OPTIMIZER_KERNELS_H
/*
 * Optimizer steps over runs of weights and moments, and stochastic rounding. The formulas are
 * those of train/optim/optimizer.h.
 */
#include <stddef.h>
#include <stdint.h>

/* The constants of one step of Adam, AdamW, LAMB or Muon. With g a gradient, w a weight, m and v
 * its moments, and a prime for the new value: */
struct adam_constants {
    float scale, l2;            /* g' = fma(l2, w, g scale) */
    float beta1, rest1;         /* m' = fma(beta1, m, rest1 g'), rest1 = 1 - beta1 */
    float beta2, rest2;         /* v' = fma(beta2, v, rest2 g'^2), rest2 = 1 - beta2 */
    float correct_m, correct_v; /* u = m' correct_m / fma(sqrt(v'), correct_v, eps) */
    float eps;
    float keep, rate; /* Adam, AdamW: w' = fma(-rate, u, w keep) */
    float decay;      /* LAMB: u' = fma(decay, w, u) */
    /* Muon has beta1 for its momentum: u = fma(beta1, m', rest1 g'); w' as AdamW's, u being
     * orthogonalized */
};

struct optimizer_kernels {
    double (*sum_squares)(const float *x, size_t n); /* accumulated in 16 double lanes */
    /* One step of Adam or AdamW: w, m, v [n] in place, from gradients g [n]. sums, if not NULL,
     * receives sum w^2 before the step and sum (w' - w)^2. */
    void (*adam)(double sums[2], float *w, float *m, float *v, const float *g, size_t n,
                 const struct adam_constants *d);
    /* One step of LAMB, in two passes since the trust ratio needs norms of whole tensors:
     * lamb_moments updates m and v [n], and sums receives sum w^2 and sum u'^2; lamb_update
     * recomputes u' from the moments and sets w' = fma(-rate, u', w). */
    void (*lamb_moments)(double sums[2], float *m, float *v, const float *w, const float *g,
                         size_t n, const struct adam_constants *d);
    void (*lamb_update)(float *w, const float *m, const float *v, size_t n,
                        const struct adam_constants *d, float rate);
    /* One step of Muon, in two passes between which directions are orthogonalized: muon_direction
     * updates m [n] and sets u [n]; muon_update sets w' = fma(-d->rate, u, w keep), and sums
     * receives what adam's receives. */
    void (*muon_direction)(float *u, float *m, const float *g, size_t n,
                           const struct adam_constants *d);
    void (*muon_update)(double sums[2], float *w, const float *u, size_t n,
                        const struct adam_constants *d);
    float (*max_abs)(const float *x, size_t n); /* max |x|; 0 for n = 0; NaN is ignored */
    /*
     * Stochastic rounding to binary16 (Gupta et al. 2015): x rounds to one of its two neighbours,
     * with probabilities whose mean is x; values that binary16 represents stay. |x| above 65504
     * becomes 65504; x must not be NaN. Element i draws the random word that dropout would draw
     * for it (training_kernels.h) from (seed, stream, block).
     */
    void (*half_from_f32_random)(uint16_t *y, const float *x, size_t n, uint64_t seed,
                                 uint64_t stream, uint64_t block);
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct optimizer_kernels *optimizer_kernels(void);

#endif
