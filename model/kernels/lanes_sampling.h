#ifndef PRATTLE_MODEL_KERNELS_LANES_SAMPLING_H
#define PRATTLE_MODEL_KERNELS_LANES_SAMPLING_H
/* Operations over rows of logits (sampling_kernels.h), over the lanes of lanes.h. */
#include "model/kernels/functions.h"
#include "model/kernels/lanes.h"
#include "model/kernels/sampling_kernels.h"

static float max_row(const float *x, size_t n)
{
    const struct v16 low = v_set(-INFINITY);
    struct v16 top = low;
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        top = v_max(v_keep(v_load_n(x + i, used), used, low), top);
    }
    return v_greatest(top);
}

static float sanitize_row(float *y, const float *x, size_t n)
{
    const struct v16 low = v_set(-INFINITY), high = v_set(FLT_MAX);
    struct v16 top = low;
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        struct v16 a = v_min(v_max(v_load_n(x + i, used), low), high);
        v_store_n(y + i, a, used);
        top = v_max(v_keep(a, used, low), top);
    }
    return v_greatest(top);
}

static size_t argmax_row(const float *x, size_t n)
{
    const struct v16 top = v_set(max_row(x, n));
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
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
        int used = lanes_used(n, i);
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
        int used = lanes_used(n, i);
        struct v16 value = v_load_n(y + i, used); /* 0 from n on */
        sum = d_add(sum, v_if_greater(v_set(least), v_load_n(x + i, used), v_set(0), value));
    }
    return d_sum(sum);
}

static size_t select_range(int32_t *index, const float *x, size_t n, float least, float below)
{
    const struct v16 low = v_set(least), high = v_set(below);
    size_t count = 0, i = 0;
    for (; i + LANES_N <= n; i += LANES_N) {
        struct v16 value = v_load(x + i);
        unsigned hit = v_at_least(value, low) & ~v_at_least(value, high);
        if (hit != 0)
            count += v_list(index + count, hit, (int32_t)i);
    }
    for (; i < n; i++) /* v_list stores 16 */
        if (x[i] >= least && !(x[i] >= below))
            index[count++] = (int32_t)i;
    return count;
}

static size_t keep_row(int32_t *index, float *y, const float *x, size_t n, float least, double *sum)
{
    const struct v16 low = v_set(least), zero = v_set(0);
    struct d16 part = d_zero();
    size_t count = 0;
    for (size_t i = 0; i < n; i += LANES_N) {
        int32_t places[LANES_N];
        float values[LANES_N];
        const bool whole = i + LANES_N <= n;
        const int used = lanes_used(n, i);
        struct v16 key = v_load_n(x + i, used), value = v_load_n(y + i, used);
        unsigned hit = v_at_least(key, low) & ((1u << used) - 1);
        part = d_add(part, v_if_greater(low, key, zero, value));
        size_t more = v_list(whole ? index + count : places, hit, (int32_t)i);
        v_pack(whole ? y + count : values, hit, value);
        if (!whole) {
            memcpy(index + count, places, more * sizeof *index);
            memcpy(y + count, values, more * sizeof *y);
        }
        count += more;
    }
    *sum = d_sum(part);
    return count;
}

static void gather_row(float *y, const float *x, const int32_t *index, size_t n)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        v_store_n(y + i, v_gather_n(x, index + i, used), used);
    }
}

static const struct sampling_kernels sampling_table = {.max = max_row,
                                                       .sanitize = sanitize_row,
                                                       .argmax = argmax_row,
                                                       .exp_sum = exp_sum,
                                                       .select = select_range,
                                                       .keep = keep_row,
                                                       .gather = gather_row,
                                                       .sum_least = sum_least};

#endif
