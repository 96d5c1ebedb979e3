#ifndef PRATTLE_MODEL_KERNELS_VECTOR_H
#define PRATTLE_MODEL_KERNELS_VECTOR_H
/*
 * The table's functions over rows, written once over the lanes of lanes.h and compiled
 * in each table's file. Their contracts are in kernels.h.
 */
#include "model/kernels/functions.h"
#include "model/kernels/kernels.h"
#include "model/kernels/lane_words.h"
#include "model/kernels/lanes.h"

/* Lanes used by the step at i of n: 16, or the tail. */
LANES int tail(size_t n, size_t i)
{
    return n - i < LANES_N ? (int)(n - i) : LANES_N;
}

LANES void finish_row(float *y, const float *acc, const float *bias, size_t n,
                      const enum linear_then then)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        struct v16 a = v_load_n(acc + i, used);
        if (bias != NULL)
            a = v_add(a, v_load_n(bias + i, used));
        if (then == LINEAR_ADD)
            a = v_add(v_load_n(y + i, used), a);
        if (then > LINEAR_ADD)
            a = v_activation(a, (enum activation)(then - LINEAR_ADD - 1));
        v_store_n(y + i, a, used);
    }
}

static void finish(float *y, size_t ldy, const float *acc, size_t ldacc, const float *bias,
                   int rows, size_t n, enum linear_then then)
{
    for (int r = 0; r < rows; r++, y += ldy, acc += ldacc) {
        switch (then) {
        case LINEAR_STORE:
            finish_row(y, acc, bias, n, LINEAR_STORE);
            break;
        case LINEAR_ADD:
            finish_row(y, acc, bias, n, LINEAR_ADD);
            break;
#define ROW(WORD, name, ...)                                                                       \
    case LINEAR_##WORD:                                                                            \
        finish_row(y, acc, bias, n, LINEAR_##WORD);                                                \
        break;
            EACH_ACTIVATION(ROW)
#undef ROW
        }
    }
}

static void layernorm(float *y, const float *x, const float *weight, const float *bias, size_t n,
                      float epsilon)
{
    struct v16 sum = v_set(0), squares = v_set(0), zero = v_set(0);
    for (size_t i = 0; i < n; i += LANES_N)
        sum = v_add(sum, v_load_n(x + i, tail(n, i)));
    struct v16 mean = v_set(v_sum(sum) / (float)n);
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        struct v16 d = v_keep(v_sub(v_load_n(x + i, used), mean), used, zero);
        squares = v_fma(d, d, squares);
    }
    struct v16 inverse = v_set(1 / sqrtf(v_sum(squares) / (float)n + epsilon));
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        struct v16 d = v_mul(v_sub(v_load_n(x + i, used), mean), inverse);
        v_store_n(y + i, v_fma(d, v_load_n(weight + i, used), v_load_n(bias + i, used)), used);
    }
}

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

static void layernorm_grad(float *dx, float *dweight, float *dbias, const float *dy, const float *x,
                           const float *weight, size_t n, float epsilon)
{
    struct v16 sum = v_set(0), squares = v_set(0), zero = v_set(0);
    for (size_t i = 0; i < n; i += LANES_N)
        sum = v_add(sum, v_load_n(x + i, tail(n, i)));
    struct v16 mean = v_set(v_sum(sum) / (float)n), g_sum = zero, gd_sum = zero;
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
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
        int used = tail(n, i);
        struct v16 e = v_load_n(dy + i, used);
        struct v16 d = v_mul(v_sub(v_load_n(x + i, used), mean), inverse);
        struct v16 g = v_fma(d, along, v_sub(v_mul(e, v_load_n(weight + i, used)), g_mean));
        v_store_n(dx + i, v_fma(g, inverse, v_load_n(dx + i, used)), used);
        v_store_n(dweight + i, v_fma(e, d, v_load_n(dweight + i, used)), used);
        v_store_n(dbias + i, v_add(v_load_n(dbias + i, used), e), used);
    }
}

LANES void slope_row(float *dy, const float *x, size_t n, const enum activation which)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        struct v16 slope = v_activation_grad(v_load_n(x + i, used), which);
        v_store_n(dy + i, v_mul(v_load_n(dy + i, used), slope), used);
    }
}

static void activation_grad(float *dy, const float *x, size_t n, enum activation which)
{
    switch (which) {
#define ROW(WORD, name, ...)                                                                       \
    case ACTIVATION_##WORD:                                                                        \
        slope_row(dy, x, n, ACTIVATION_##WORD);                                                    \
        break;
        EACH_ACTIVATION(ROW)
#undef ROW
    case N_ACTIVATIONS:
        break;
    }
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

static void dropout(float *y, const float *x, size_t n, const struct dropout *d, uint64_t stream,
                    uint64_t block)
{
    const struct v16 by = v_set(d->scale);
    for (size_t at = 0; at < n; at += 4 * LANES_N, block++) {
        struct w16 words[4];
        w_philox(words, d->seed, stream, block * LANES_N);
        for (size_t j = 0, i = at; j < 4 && i < n; j++, i += LANES_N) {
            int used = tail(n, i);
            struct v16 a = v_mul(v_load_n(x + i, used), by);
            v_store_n(y + i, v_if_below(a, words[j], d->keep), used);
        }
    }
}

static float dot(const float *x, const float *y, size_t n)
{
    struct v16 sum = v_set(0);
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        sum = v_fma(v_load_n(x + i, used), v_load_n(y + i, used), sum);
    }
    return v_sum(sum);
}

static void add(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        v_store_n(y + i, v_add(v_load_n(y + i, used), v_load_n(x + i, used)), used);
    }
}

static void scale_row(float *y, float a, size_t n)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        v_store_n(y + i, v_mul(v_load_n(y + i, used), v_set(a)), used);
    }
}

static void divide(float *y, const float *x, float a, size_t n)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        v_store_n(y + i, v_div(v_load_n(x + i, used), v_set(a)), used);
    }
}

static void widen(float *y, const uint16_t *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        v_store_n(y + i, v_load_half_n(x + i, used), used);
    }
}

static void narrow(uint16_t *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        v_store_half_n(y + i, v_load_n(x + i, used), used);
    }
}

/* In units of the last place: what is above the whole number decides against chance. */
LANES struct v16 round_by_chance(struct v16 x, struct w16 word)
{
    const struct v16 whole = v_set(0x1p23f), zero = v_set(0);
    struct v16 size = v_min(v_abs(x), v_set(65504));
    struct v16 power = v_max(v_power_below(size), v_set(0x1p-14f));
    struct v16 t = v_mul(size, v_div(v_set(1024), power));
    struct v16 floor = v_sub(v_add(t, whole), whole);
    floor = v_sub(floor, v_if_greater(floor, t, v_set(1), zero));
    struct v16 up = v_if_greater(v_sub(t, floor), w_fraction(word), v_set(1), zero);
    return v_copysign(v_mul(v_add(floor, up), v_mul(power, v_set(0x1p-10f))), x);
}

static void narrow_random(uint16_t *y, const float *x, size_t n, uint64_t seed, uint64_t stream,
                          uint64_t block)
{
    for (size_t at = 0; at < n; at += 4 * LANES_N, block++) {
        struct w16 words[4];
        w_philox(words, seed, stream, block * LANES_N);
        for (size_t j = 0, i = at; j < 4 && i < n; j++, i += LANES_N) {
            int used = tail(n, i);
            v_store_half_n(y + i, round_by_chance(v_load_n(x + i, used), words[j]), used);
        }
    }
}

static float greatest(const float *x, size_t n)
{
    const struct v16 low = v_set(-INFINITY);
    struct v16 top = low;
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        top = v_max(v_keep(v_load_n(x + i, used), used, low), top);
    }
    return v_greatest(top);
}

static float greatest_size(const float *x, size_t n)
{
    struct v16 top = v_set(0);
    for (size_t i = 0; i < n; i += LANES_N)
        top = v_max(v_abs(v_load_n(x + i, tail(n, i))), top);
    return v_greatest(top);
}

static float admit(float *y, const float *x, size_t n)
{
    const struct v16 low = v_set(-INFINITY), high = v_set(FLT_MAX);
    struct v16 top = low;
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        struct v16 a = v_min(v_max(v_load_n(x + i, used), low), high);
        v_store_n(y + i, a, used);
        top = v_max(v_keep(a, used, low), top);
    }
    return v_greatest(top);
}

static size_t argmax(const float *x, size_t n)
{
    const struct v16 top = v_set(greatest(x, n));
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        unsigned hit = v_at_least(v_load_n(x + i, used), top) & ((1u << used) - 1);
        if (hit != 0)
            return i + (size_t)__builtin_ctz(hit);
    }
    return 0;
}

static double exp_sum(float *y, const float *x, size_t n, float shift, float scale)
{
    const struct v16 zero = v_set(0), less = v_set(shift), by = v_set(scale);
    struct d16 sum = d_zero();
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        struct v16 e = v_exp(v_mul(v_sub(v_load_n(x + i, used), less), by));
        e = v_keep(e, used, zero);
        if (y != NULL)
            v_store_n(y + i, e, used);
        sum = d_add(sum, e);
    }
    return d_sum(sum);
}

static double sum_least(const float *y, const float *x, size_t n, float least)
{
    struct d16 sum = d_zero();
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        struct v16 value = v_load_n(y + i, used); /* 0 from n on */
        sum = d_add(sum, v_if_greater(v_set(least), v_load_n(x + i, used), v_set(0), value));
    }
    return d_sum(sum);
}

static size_t select_range(int32_t *index, const float *x, size_t n, float least, float below)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        struct v16 value = v_load_n(x + i, used);
        unsigned hit = v_at_least(value, v_set(least)) & ~v_at_least(value, v_set(below));
        hit &= (1u << used) - 1;
        if (hit != 0)
            count += v_list(index + count, hit, (int32_t)i);
    }
    return count;
}

static void gather(float *y, const float *x, const int32_t *index, size_t n)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        v_store_n(y + i, v_gather_n(x, index + i, used), used);
    }
}

/* Four streams at once, each fetched a little ahead: the most one core gets. */
static float stream(const uint16_t *x, size_t n)
{
    const size_t quarter = n / 256 * 64;
    struct v16 sum[8];
    for (int j = 0; j < 8; j++)
        sum[j] = v_set(0);
    for (size_t i = 0; i < quarter; i += 64)
#pragma GCC unroll 4
        for (size_t q = 0; q < 4; q++) {
            const uint16_t *p = x + q * quarter + i;
            __builtin_prefetch(p + 512);
            __builtin_prefetch(p + 544);
#pragma GCC unroll 4
            for (size_t j = 0; j < 4; j++)
                sum[q % 2 * 4 + j] = v_add(sum[q % 2 * 4 + j], v_load_half(p + 16 * j));
        }
    for (size_t i = 4 * quarter; i < n; i += LANES_N)
        sum[0] = v_add(sum[0], v_load_half_n(x + i, tail(n, i)));
    for (int j = 1; j < 8; j++)
        sum[0] = v_add(sum[0], sum[j]);
    return v_sum(sum[0]);
}

/* The part of a table that vector.h gives. */
#define VECTOR_KERNELS                                                                             \
    .finish = finish, .layernorm = layernorm, .softmax_block = softmax_block,                      \
    .layernorm_grad = layernorm_grad, .activation_grad = activation_grad, .softmax_grad = softmax_grad,        \
    .dropout = dropout, .dot = dot, .add = add, .scale = scale_row, .divide = divide,              \
    .widen = widen, .narrow = narrow, .narrow_random = narrow_random, .max = greatest,             \
    .max_abs = greatest_size, .admit = admit, .argmax = argmax, .exp_sum = exp_sum,                \
    .select = select_range, .gather = gather, .sum_least = sum_least, .stream = stream

#endif
