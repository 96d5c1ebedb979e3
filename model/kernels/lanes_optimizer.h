#ifndef PRATTLE_MODEL_KERNELS_LANES_OPTIMIZER_H
#define PRATTLE_MODEL_KERNELS_LANES_OPTIMIZER_H
/* Optimizer steps and stochastic rounding (optimizer_kernels.h), over the lanes of lanes.h. */
#include "model/kernels/lane_words.h"
#include "model/kernels/lanes.h"
#include "model/kernels/optimizer_kernels.h"

static float max_abs_row(const float *x, size_t n)
{
    struct v16 top = v_set(0);
    for (size_t i = 0; i < n; i += LANES_N)
        top = v_max(v_abs(v_load_n(x + i, lanes_used(n, i))), top);
    return v_greatest(top);
}

/* t is x in units of its last place in binary16: t rounds up with the probability of its fraction.
 */
LANES struct v16 round_stochastically(struct v16 x, struct w16 word)
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

static void round_row_randomly(uint16_t *y, const float *x, size_t n, uint64_t seed,
                               uint64_t stream, uint64_t block)
{
    for (size_t at = 0; at < n; at += 4 * LANES_N, block++) {
        struct w16 words[4];
        w_philox(words, seed, stream, block * LANES_N);
        for (size_t j = 0, i = at; j < 4 && i < n; j++, i += LANES_N) {
            int used = lanes_used(n, i);
            v_store_half_n(y + i, round_stochastically(v_load_n(x + i, used), words[j]), used);
        }
    }
}

LANES void store_sums(double sums[2], struct d16 first, struct d16 second)
{
    if (sums != NULL) {
        sums[0] = d_sum(first);
        sums[1] = d_sum(second);
    }
}

static double sum_squares(const float *x, size_t n)
{
    struct d16 sum = d_zero();
    for (size_t i = 0; i < n; i += LANES_N)
        sum = d_add_square(sum, v_load_n(x + i, lanes_used(n, i)));
    return d_sum(sum);
}

/* Store the new moments; returns u, the direction of the step. */
LANES struct v16 update_moments(struct v16 w, float *m, float *v, const float *g,
                                const struct adam_constants *d, int used)
{
    struct v16 slope = v_fma(v_set(d->l2), w, v_mul(v_load_n(g, used), v_set(d->scale)));
    struct v16 new_m = v_fma(v_set(d->beta1), v_load_n(m, used), v_mul(v_set(d->rest1), slope));
    struct v16 new_v =
        v_fma(v_set(d->beta2), v_load_n(v, used), v_mul(v_set(d->rest2), v_mul(slope, slope)));
    v_store_n(m, new_m, used);
    v_store_n(v, new_v, used);
    struct v16 under = v_fma(v_sqrt(new_v), v_set(d->correct_v), v_set(d->eps));
    return v_div(v_mul(new_m, v_set(d->correct_m)), under);
}

static void adam_step(double sums[2], float *w, float *m, float *v, const float *g, size_t n,
                      const struct adam_constants *d)
{
    struct d16 weights = d_zero(), updates = d_zero();
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        struct v16 old = v_load_n(w + i, used);
        struct v16 u = v_keep(update_moments(old, m + i, v + i, g + i, d, used), used, v_set(0));
        struct v16 new = v_fma(v_set(-d->rate), u, v_mul(old, v_set(d->keep)));
        v_store_n(w + i, new, used);
        if (sums != NULL) {
            weights = d_add_square(weights, old);
            updates = d_add_square(updates, v_sub(new, old));
        }
    }
    store_sums(sums, weights, updates);
}

static void lamb_moments(double sums[2], float *m, float *v, const float *w, const float *g,
                         size_t n, const struct adam_constants *d)
{
    struct d16 weights = d_zero(), updates = d_zero();
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        struct v16 old = v_load_n(w + i, used);
        struct v16 u = update_moments(old, m + i, v + i, g + i, d, used);
        u = v_keep(v_fma(v_set(d->decay), old, u), used, v_set(0));
        weights = d_add_square(weights, old);
        updates = d_add_square(updates, u);
    }
    store_sums(sums, weights, updates);
}

static void lamb_update(float *w, const float *m, const float *v, size_t n,
                        const struct adam_constants *d, float rate)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        struct v16 old = v_load_n(w + i, used);
        struct v16 under = v_fma(v_sqrt(v_load_n(v + i, used)), v_set(d->correct_v), v_set(d->eps));
        struct v16 u = v_div(v_mul(v_load_n(m + i, used), v_set(d->correct_m)), under);
        u = v_fma(v_set(d->decay), old, u);
        v_store_n(w + i, v_fma(v_set(-rate), u, old), used);
    }
}

static void muon_direction(float *u, float *m, const float *g, size_t n,
                           const struct adam_constants *d)
{
    const struct v16 beta = v_set(d->beta1);
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        struct v16 slope = v_mul(v_load_n(g + i, used), v_set(d->scale));
        struct v16 fresh = v_mul(v_set(d->rest1), slope);
        struct v16 new_m = v_fma(beta, v_load_n(m + i, used), fresh);
        v_store_n(m + i, new_m, used);
        v_store_n(u + i, v_fma(beta, new_m, fresh), used);
    }
}

static void muon_update(double sums[2], float *w, const float *u, size_t n,
                        const struct adam_constants *d)
{
    struct d16 weights = d_zero(), updates = d_zero();
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        struct v16 old = v_load_n(w + i, used);
        struct v16 new = v_fma(v_set(-d->rate), v_load_n(u + i, used), v_mul(old, v_set(d->keep)));
        v_store_n(w + i, new, used);
        new = v_keep(new, used, v_set(0));
        weights = d_add_square(weights, old);
        updates = d_add_square(updates, v_sub(new, old));
    }
    store_sums(sums, weights, updates);
}

static const struct optimizer_kernels optimizer_table = {.sum_squares = sum_squares,
                                                         .adam = adam_step,
                                                         .lamb_moments = lamb_moments,
                                                         .lamb_update = lamb_update,
                                                         .muon_direction = muon_direction,
                                                         .muon_update = muon_update,
                                                         .max_abs = max_abs_row,
                                                         .half_from_f32_random =
                                                             round_row_randomly};

#endif
