#ifndef PRATTLE_MODEL_KERNELS_ATTENTION_KERNELS_H
#define PRATTLE_MODEL_KERNELS_ATTENTION_KERNELS_H
/*
 * Softmax over one block of 64 keys, forward and backward.
 */

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
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct attention_kernels *attention_kernels(void);

#endif
