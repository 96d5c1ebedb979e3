#ifndef PRATTLE_MODEL_KERNELS_DESCENT_H
#define PRATTLE_MODEL_KERNELS_DESCENT_H
/* The optimizers' part of a table, over lanes as vector.h; its contracts are in kernels.h. */
#include "model/kernels/vector.h"

LANES void two_sums(double sums[2], struct d16 first, struct d16 second)
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
        sum = d_add_square(sum, v_load_n(x + i, tail(n, i)));
    return d_sum(sum);
}

/* The moments of what is at i, stored, and the direction they give. */
LANES struct v16 new_direction(struct v16 w, float *m, float *v, const float *g,
                               const struct descent *d, int used)
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

static void adam(double sums[2], float *w, float *m, float *v, const float *g, size_t n,
                 const struct descent *d)
{
    struct d16 weights = d_zero(), updates = d_zero();
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        struct v16 old = v_load_n(w + i, used);
        struct v16 u = v_keep(new_direction(old, m + i, v + i, g + i, d, used), used, v_set(0));
        struct v16 new = v_fma(v_set(-d->rate), u, v_mul(old, v_set(d->keep)));
        v_store_n(w + i, new, used);
        if (sums != NULL) {
            weights = d_add_square(weights, old);
            updates = d_add_square(updates, v_sub(new, old));
        }
    }
    two_sums(sums, weights, updates);
}

static void lamb_moments(double sums[2], float *m, float *v, const float *w, const float *g,
                         size_t n, const struct descent *d)
{
    struct d16 weights = d_zero(), updates = d_zero();
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        struct v16 old = v_load_n(w + i, used);
        struct v16 u = new_direction(old, m + i, v + i, g + i, d, used);
        u = v_keep(v_fma(v_set(d->decay), old, u), used, v_set(0));
        weights = d_add_square(weights, old);
        updates = d_add_square(updates, u);
    }
    two_sums(sums, weights, updates);
}

static void lamb_move(float *w, const float *m, const float *v, size_t n, const struct descent *d,
                      float rate)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = tail(n, i);
        struct v16 old = v_load_n(w + i, used);
        struct v16 under = v_fma(v_sqrt(v_load_n(v + i, used)), v_set(d->correct_v), v_set(d->eps));
        struct v16 u = v_div(v_mul(v_load_n(m + i, used), v_set(d->correct_m)), under);
        u = v_fma(v_set(d->decay), old, u);
        v_store_n(w + i, v_fma(v_set(-rate), u, old), used);
    }
}

#define DESCENT_KERNELS                                                                            \
    .sum_squares = sum_squares, .adam = adam, .lamb_moments = lamb_moments, .lamb_move = lamb_move

#endif
