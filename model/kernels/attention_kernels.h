#ifndef PRATTLE_MODEL_KERNELS_ATTENTION_KERNELS_H
#define PRATTLE_MODEL_KERNELS_ATTENTION_KERNELS_H
/*
 * Softmax over a block of 64 keys, forward and backward.
 */

struct attention_kernels {
    /*
     * One key block of online softmax (Milakov & Gimelshein 2018), n <= 64 of the
     * scores s [64]: m' = max(m, max s scale), s = exp(s scale - m') (0 from n on),
     * sum' = sum exp(m - m') + sum of s. Returns exp(m - m'), what all earlier values
     * are to be multiplied by.
     */
    float (*softmax_block)(float *s, int n, float scale, float *m, float *sum);

    /*
     * Softmax's gradient over n <= 64 keys of a row: p [64] holds scores and becomes
     * their weights exp(p scale - lse), ds [64] holds the gradients of the weights and
     * becomes those of the scores, p (ds - delta) scale; both 0 from n on.
     */
    void (*softmax_grad)(float *p, float *ds, int n, float scale, float lse, float delta);
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct attention_kernels *attention_kernels(void);

#endif
