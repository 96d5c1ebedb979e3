#ifndef PRATTLE_MODEL_KERNELS_LANES_ATTENTION_H
#define PRATTLE_MODEL_KERNELS_LANES_ATTENTION_H
/* Softmax over a block of keys, and keys and values in q8 (attention_kernels.h), over the lanes of
 * lanes.h. */
#include "model/kernels/attention_kernels.h"
#include "model/kernels/functions.h"
#include "model/kernels/lanes.h"
#include "model/kernels/q8_block.h"

static float softmax_block(float *s, int n, float scale, float *m, float *sum)
{
    const struct v16 zero = v_set(0), low = v_set(-INFINITY), by = v_set(scale);
    struct v16 part[4], greatest = low;
    for (int i = 0; i < 4; i++) {
        int used = n <= 16 * i ? 0 : n - 16 * i < 16 ? n - 16 * i : 16;
        part[i] = v_keep(v_mul(v_load(s + 16 * i), by), used, low);
        greatest = v_max(part[i], greatest);
    }
    float block = v_greatest(greatest), top = block > *m ? block : *m;
    struct v16 total = zero;
    for (int i = 0; i < 4; i++) {
        int used = n <= 16 * i ? 0 : n - 16 * i < 16 ? n - 16 * i : 16;
        part[i] = v_keep(v_exp(v_sub(part[i], v_set(top))), used, zero);
        total = v_add(total, part[i]);
        v_store(s + 16 * i, part[i]);
    }
    float lane[LANES_N];
    v_store(lane, v_exp(v_set(*m - top)));
    *m = top;
    *sum = fmaf(*sum, lane[0], v_sum(total));
    return lane[0];
}

static void softmax_grad(float *p, float *ds, int n, float scale, float lse, float delta)
{
    const struct v16 zero = v_set(0), by = v_set(scale), shift = v_set(-lse), less = v_set(delta);
    for (int i = 0; i < 64; i += LANES_N) {
        int used = n <= i ? 0 : n - i < LANES_N ? n - i : LANES_N;
        struct v16 weight = v_keep(v_exp(v_fma(v_load(p + i), by, shift)), used, zero);
        struct v16 slope = v_mul(v_mul(weight, v_sub(v_load(ds + i), less)), by);
        v_store(p + i, weight);
        v_store(ds + i, v_keep(slope, used, zero));
    }
}

/* Step k of a kernel's prefetch, of K: two streams keep more cache lines in flight than one. */
LANES void prefetch_step(const struct prefetch p, int k, int K)
{
    const char *at = (const char *)p.at + (size_t)k * p.step / 2;
    __builtin_prefetch(at, 0, 2);
    __builtin_prefetch(at + (size_t)K * p.step / 2, 0, 2);
}

static void scores_q8(float *s, const float *q, const char *keys, int D, struct prefetch prefetch)
{
    struct v16 sum[4];
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++)
        sum[c] = v_set(0);
    for (int first = 0; first < D; first += Q8_BLOCK) {
        const uint16_t *scales = (const void *)keys;
        const int8_t *k = (const int8_t *)(scales + 64);
        const int end = D - first < Q8_BLOCK ? D : first + Q8_BLOCK;
        struct v16 part[4];
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++)
            part[c] = v_set(0);
        for (int d = first; d < end; d++, k += 64) {
            const struct v16 a = v_set(q[d]);
            prefetch_step(prefetch, d, D);
#pragma GCC unroll 4
            for (int c = 0; c < 4; c++)
                part[c] = v_fma(a, v_load_i8(k + 16 * c), part[c]);
        }
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++)
            sum[c] = v_fma(v_load_half(scales + 16 * c), part[c], sum[c]);
        keys = (const char *)k;
    }
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++)
        v_store(s + 16 * c, sum[c]);
}

/* 16 C columns of the values at v, with weights x of the first 32 and of the rest. */
LANES void add_values(const int C, float *acc, const float x[2][64], const int8_t *v, int D16,
                      int begin, int end, struct prefetch prefetch)
{
    struct v16 sum[4];
#pragma GCC unroll 4
    for (int c = 0; c < C; c++)
        sum[c] = v_load(acc + 16 * c);
    v += (size_t)begin * (size_t)D16;
    for (int j = begin; j < end; j++, v += D16) {
        const struct v16 a[2] = {v_set(x[0][j]), v_set(x[1][j])};
        prefetch_step(prefetch, j - begin, end - begin);
#pragma GCC unroll 4
        for (int c = 0; c < C; c++)
            sum[c] = v_fma(a[c / 2], v_load_i8(v + 16 * c), sum[c]);
    }
#pragma GCC unroll 4
    for (int c = 0; c < C; c++)
        v_store(acc + 16 * c, sum[c]);
}

static void multiply_scales(float *s, const uint16_t *d, const float *part)
{
    for (int j = 0; j < 64; j += LANES_N)
        v_store(s + j, v_mul(v_load_half(d + j), v_load(part + j)));
}

static void add_scaled(float *s, const uint16_t *d, const float *part, int R, bool fresh)
{
    for (int j = 0; j < 64; j += LANES_N) {
        const struct v16 scale = v_load_half(d + j);
        for (int r = 0; r < R; r++) {
            const struct v16 old = fresh ? v_set(0) : v_load(s + r * 64 + j);
            v_store(s + r * 64 + j, v_fma(scale, v_load(part + r * 64 + j), old));
        }
    }
}

static void scale_packed(float *x, const uint16_t *d, const float *w, int n, int R)
{
    float scale[64];
    for (int j = 0; j < n; j += LANES_N)
        v_store(scale + j, v_load_half_n(d + j, lanes_used((size_t)n, (size_t)j)));
    for (int j = 0; j < n; j++)
        v_store(x + j * R, v_mul(v_set(scale[j]), v_load(w + j * R)));
}

static void values_q8(float *acc, const float *w, const char *values, int D16, int begin, int end,
                      struct prefetch prefetch)
{
    const int blocks = (D16 + Q8_BLOCK - 1) / Q8_BLOCK;
    const uint16_t *scales = (const void *)values;
    const int8_t *v = (const int8_t *)(scales + (size_t)blocks * 64);
    float x[2][64];
    for (int b = 0; b < blocks; b += 2, acc += 64, v += 64) {
        const int cols = D16 - b * Q8_BLOCK;
        multiply_scales(x[0], scales + (size_t)b * 64, w);
        multiply_scales(x[1], scales + (size_t)(b + 1 < blocks ? b + 1 : b) * 64, w);
        if (cols >= 64)
            add_values(4, acc, x, v, D16, begin, end, prefetch);
        else if (cols == 48)
            add_values(3, acc, x, v, D16, begin, end, prefetch);
        else if (cols == 32)
            add_values(2, acc, x, v, D16, begin, end, prefetch);
        else
            add_values(1, acc, x, v, D16, begin, end, prefetch);
        prefetch.step = 0;
    }
}

static const struct attention_kernels attention_table = {.softmax_block = softmax_block,
                                                         .softmax_grad = softmax_grad,
                                                         .scores_q8 = scores_q8,
                                                         .values_q8 = values_q8,
                                                         .add_scaled = add_scaled,
                                                         .scale_packed = scale_packed};

#endif
