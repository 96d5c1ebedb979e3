#ifndef PRATTLE_MODEL_KERNELS_LANES_TRAINING_H
#define PRATTLE_MODEL_KERNELS_LANES_TRAINING_H
/* Gradients and dropout (training_kernels.h), over the lanes of lanes.h. */
#include "model/kernels/functions.h"
#include "model/kernels/lane_words.h"
#include "model/kernels/lanes.h"
#include "model/kernels/training_kernels.h"

static void layernorm_grad(float *dx, float *dweight, float *dbias, const float *dy, const float *x,
                           const float *weight, size_t n, float epsilon)
{
    struct v16 sum = v_set(0), squares = v_set(0), zero = v_set(0);
    for (size_t i = 0; i < n; i += LANES_N)
        sum = v_add(sum, v_load_n(x + i, lanes_used(n, i)));
    struct v16 mean = v_set(v_sum(sum) / (float)n), g_sum = zero, gd_sum = zero;
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        struct v16 d = v_keep(v_sub(v_load_n(x + i, used), mean), used, zero);
        struct v16 g = v_mul(v_load_n(dy + i, used), v_load_n(weight + i, used));
        squares = v_fma(d, d, squares);
        g_sum = v_add(g_sum, g);
        gd_sum = v_fma(g, d, gd_sum);
    }
    float over = 1 / sqrtf(v_sum(squares) / (float)n + epsilon);
    struct v16 inverse = v_set(over), g_mean = v_set(v_sum(g_sum) / (float)n);
    struct v16 along = v_set(-v_sum(gd_sum) * over / (float)n);
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        struct v16 e = v_load_n(dy + i, used);
        struct v16 d = v_mul(v_sub(v_load_n(x + i, used), mean), inverse);
        struct v16 g = v_fma(d, along, v_sub(v_mul(e, v_load_n(weight + i, used)), g_mean));
        v_store_n(dx + i, v_fma(g, inverse, v_load_n(dx + i, used)), used);
        v_store_n(dweight + i, v_fma(e, d, v_load_n(dweight + i, used)), used);
        v_store_n(dbias + i, v_add(v_load_n(dbias + i, used), e), used);
    }
}

LANES void activation_grad_row(float *dy, const float *x, size_t n, const enum activation which)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        struct v16 slope = v_activation_grad(v_load_n(x + i, used), which);
        v_store_n(dy + i, v_mul(v_load_n(dy + i, used), slope), used);
    }
}

static void activation_grad(float *dy, const float *x, size_t n, enum activation which)
{
    switch (which) {
#define ROW(WORD, name, ...)                                                                       \
    case ACTIVATION_##WORD:                                                                        \
        activation_grad_row(dy, x, n, ACTIVATION_##WORD);                                          \
        break;
        EACH_ACTIVATION(ROW)
#undef ROW
    case N_ACTIVATIONS:
        break;
    }
}

static void drop_row(float *y, const float *x, size_t n, const struct dropout *d, uint64_t stream,
                     uint64_t block)
{
    const struct v16 by = v_set(d->scale);
    for (size_t at = 0; at < n; at += 4 * LANES_N, block++) {
        struct w16 words[4];
        w_philox(words, d->seed, stream, block * LANES_N);
        for (size_t j = 0, i = at; j < 4 && i < n; j++, i += LANES_N) {
            int used = lanes_used(n, i);
            struct v16 a = v_mul(v_load_n(x + i, used), by);
            v_store_n(y + i, v_if_below(a, words[j], d->keep), used);
        }
    }
}

static float dot_product(const float *x, const float *y, size_t n)
{
    struct v16 sum = v_set(0);
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        sum = v_fma(v_load_n(x + i, used), v_load_n(y + i, used), sum);
    }
    return v_sum(sum);
}

static const struct training_kernels training_table = {.layernorm_grad = layernorm_grad,
                                                       .activation_grad = activation_grad,
                                                       .dropout = drop_row,
                                                       .dot = dot_product};

#endif
