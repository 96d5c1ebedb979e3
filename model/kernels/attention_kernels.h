#ifndef PRATTLE_MODEL_KERNELS_ATTENTION_KERNELS_H
#define PRATTLE_MODEL_KERNELS_ATTENTION_KERNELS_H
/*
 * Softmax over one block of 64 keys, forward and backward; and products of keys and values in q8
 * (attention_q8.h) with one query row.
 */
#include "model/kernels/prefetch.h"

#include <stdbool.h>
#include <stdint.h>

struct attention_kernels {
    /*
     * One step of online softmax (Milakov & Gimelshein 2018) over the first n <= 64 scores of
     * s [64], with the running maximum m and running sum:
     *
     *   m' = max(m, max_i s[i] scale)
     *   s[i] = exp(s[i] scale - m') for i < n, else 0
     *   sum' = sum exp(m - m') + sum_i s[i]
     *
     * Returns exp(m - m'), by which the caller multiplies what it accumulated before.
     */
    float (*softmax_block)(float *s, int n, float scale, float *m, float *sum);

    /*
     * The gradient of softmax over the first n <= 64 keys of a row. lse is the row's log-sum-exp,
     * delta the sum over all its keys of weight times gradient of the weight.
     *
     * p [64]    scores; becomes the weights p' = exp(p scale - lse), 0 from n on
     * ds [64]   gradients of the weights; becomes those of the scores, p' (ds - delta) scale, 0
     *           from n on
     */
    void (*softmax_grad)(float *p, float *ds, int n, float scale, float lse, float delta);

    /* s [64] = scores of the row q [D] with a page's keys. */
    void (*scores_q8)(float *s, const float *q, const char *keys, int D, struct prefetch prefetch);
    /* acc [D16] += a page's values begin .. end - 1, with weights w [64]. */
    void (*values_q8)(float *acc, const float *w, const char *values, int D16, int begin, int end,
                      struct prefetch prefetch);
    /* The parts of products of R rows. s [R,64] = d part, or s = fma(d, part, s) unless `fresh`,
     * with part [R,64] and scales d [64] in binary16. */
    void (*add_scaled)(float *s, const uint16_t *d, const float *part, int R, bool fresh);
    /* x [n,R] = d w, w [n,R] and d [n]. Of x and w up to 16 floats from a row's beginning on are
     * touched. */
    void (*scale_packed)(float *x, const uint16_t *d, const float *w, int n, int R);
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct attention_kernels *attention_kernels(void);

#endif
