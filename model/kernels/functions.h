#ifndef PRATTLE_MODEL_KERNELS_FUNCTIONS_H
#define PRATTLE_MODEL_KERNELS_FUNCTIONS_H
/*
 * exp, erf, tanh, the activations and their derivatives over the lanes of lanes.h. The derivative
 * at NaN is NaN, at any other x (infinities included) finite.
 */
#include "model/kernels/activation.h"
#include "model/kernels/lanes.h"

/* e^x = 2^n e^r, n = round(x / ln 2); the polynomial is that of Cephes' expf. */
LANES struct v16 v_exp(struct v16 x)
{
    const struct v16 magic =
        v_set(0x1.8p23f);      /* adding it rounds to an integer, kept in the low bits */
    x = v_max(v_set(-105), x); /* NaN stays: it is the second operand */
    x = v_min(v_set(90), x);
    struct v16 t = v_fma(x, v_set(0x1.715476p+0f), magic);
    struct v16 n = v_sub(t, magic);
    struct v16 r = v_fma(n, v_set(-0x1.62e430p-1f), x);
    r = v_fma(n, v_set(0x1.05c610p-29f), r);
    struct v16 p = v_set(1.9875691500e-4f);
    p = v_fma(p, r, v_set(1.3981999507e-3f));
    p = v_fma(p, r, v_set(8.3334519073e-3f));
    p = v_fma(p, r, v_set(4.1665795894e-2f));
    p = v_fma(p, r, v_set(1.6666665459e-1f));
    p = v_fma(p, r, v_set(5.0000001201e-1f));
    p = v_add(v_fma(p, v_mul(r, r), r), v_set(1));
    return v_scale(p, t, magic);
}

/* Near 0 a polynomial in x^2; beyond, 1 - e^(polynomial in |x|). */
LANES struct v16 v_erf(struct v16 x)
{
    struct v16 t = v_abs(x), s = v_mul(x, x);
    struct v16 far = v_fma(v_set(-1.72853470e-5f), t, v_set(3.83197126e-4f));
    struct v16 u = v_fma(v_set(-3.88396438e-3f), t, v_set(2.42546219e-2f));
    far = v_fma(far, s, u);
    far = v_fma(far, t, v_set(-1.06777877e-1f));
    far = v_fma(far, t, v_set(-6.34846687e-1f));
    far = v_fma(far, t, v_set(-1.28717512e-1f));
    far = v_fma(far, t, v_sub(v_set(0), t));
    far = v_copysign(v_sub(v_set(1), v_exp(far)), x);
    struct v16 near = v_set(-5.96761703e-4f);
    near = v_fma(near, s, v_set(4.99119423e-3f));
    near = v_fma(near, s, v_set(-2.67681349e-2f));
    near = v_fma(near, s, v_set(1.12819925e-1f));
    near = v_fma(near, s, v_set(-3.76125336e-1f));
    near = v_fma(near, s, v_set(1.28379166e-1f));
    near = v_fma(near, x, x);
    return v_if_greater(t, v_set(0.921875f), far, near);
}

/* Near 0 the polynomial of Cephes' tanhf; beyond, 1 - 2 / (1 + e^2|x|). */
LANES struct v16 v_tanh(struct v16 x)
{
    struct v16 t = v_abs(x), s = v_mul(x, x), one = v_set(1);
    struct v16 far = v_div(v_set(2), v_add(one, v_exp(v_add(t, t))));
    far = v_copysign(v_sub(one, far), x);
    struct v16 near = v_set(-5.70498872745e-3f);
    near = v_fma(near, s, v_set(2.06390887954e-2f));
    near = v_fma(near, s, v_set(-5.37397155531e-2f));
    near = v_fma(near, s, v_set(1.33314422036e-1f));
    near = v_fma(near, s, v_set(-3.33332819422e-1f));
    near = v_fma(v_mul(near, s), x, x);
    return v_if_greater(t, v_set(0.625f), far, near);
}

/* 0.5 x (1 + tanh u) = x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3) */
LANES struct v16 v_gelu_tanh(struct v16 x)
{
    struct v16 a = v_fma(v_mul(x, x), v_set(-0.0713548162726f), v_set(-1.5957691216057f));
    return v_div(x, v_add(v_set(1), v_exp(v_mul(x, a))));
}

LANES struct v16 v_gelu_erf(struct v16 x)
{
    struct v16 half = v_mul(v_set(0.5f), x);
    return v_fma(half, v_erf(v_mul(x, v_set(0.70710678118655f))), half);
}

LANES struct v16 v_relu(struct v16 x)
{
    return v_max(v_set(0), x);
}

/* x / (1 + e^-x) */
LANES struct v16 v_silu(struct v16 x)
{
    return v_div(x, v_add(v_set(1), v_exp(v_sub(v_set(0), x))));
}

/* x / (1 + e^-1.702x) */
LANES struct v16 v_quick_gelu(struct v16 x)
{
    return v_div(x, v_add(v_set(1), v_exp(v_mul(x, v_set(-1.702f)))));
}

/* Beyond 20 the slopes are 0 and 1; NaN stays. */
LANES struct v16 v_gelu_range(struct v16 x)
{
    return v_min(v_set(20), v_max(v_set(-20), x));
}

/* x s(x), s(x) = 1 / (1 + e^-2u): s + x s (1 - s) 2u' */
LANES struct v16 v_gelu_tanh_grad(struct v16 x)
{
    x = v_gelu_range(x);
    struct v16 one = v_set(1), square = v_mul(x, x);
    struct v16 a = v_fma(square, v_set(-0.0713548162726f), v_set(-1.5957691216057f));
    struct v16 s = v_div(one, v_add(one, v_exp(v_mul(x, a))));
    struct v16 slope = v_fma(square, v_set(0.2140644488178f), v_set(1.5957691216057f));
    return v_mul(s, v_fma(v_mul(x, slope), v_sub(one, s), one));
}

/* x P(x), P the normal distribution: P + x P' */
LANES struct v16 v_gelu_erf_grad(struct v16 x)
{
    x = v_gelu_range(x);
    struct v16 half = v_set(0.5f);
    struct v16 below = v_fma(half, v_erf(v_mul(x, v_set(0.70710678118655f))), half);
    struct v16 density = v_exp(v_mul(v_mul(x, x), v_set(-0.5f)));
    return v_fma(v_mul(x, v_set(0.39894228040143f)), density, below);
}

LANES struct v16 v_relu_grad(struct v16 x)
{
    struct v16 zero = v_set(0), above = v_max(zero, x); /* NaN stays */
    return v_if_greater(above, zero, v_set(1), above);
}

/* Of x s(x), s(x) = 1 / (1 + e^-x): s + x s (1 - s). Beyond 100 that is 0 and 1. */
LANES struct v16 v_silu_grad(struct v16 x)
{
    x = v_min(v_set(100), v_max(v_set(-100), x));
    struct v16 one = v_set(1);
    struct v16 s = v_div(one, v_add(one, v_exp(v_sub(v_set(0), x))));
    return v_mul(s, v_fma(x, v_sub(one, s), one));
}

/* x s(1.702 x) has the slope of u s(u) at u = 1.702 x. */
LANES struct v16 v_quick_gelu_grad(struct v16 x)
{
    return v_silu_grad(v_mul(x, v_set(1.702f)));
}

LANES struct v16 v_tanh_grad(struct v16 x)
{
    struct v16 y = v_tanh(x), one = v_set(1);
    return v_mul(v_sub(one, y), v_add(one, y));
}

/* Callers pass a constant for `which`, so that their loops contain no switch. */
LANES struct v16 v_activation(struct v16 x, const enum activation which)
{
    switch (which) {
#define ROW(WORD, name, ...)                                                                       \
    case ACTIVATION_##WORD:                                                                        \
        return v_##name(x);
        EACH_ACTIVATION(ROW)
#undef ROW
    case N_ACTIVATIONS:
        break;
    }
    return x;
}

LANES struct v16 v_activation_grad(struct v16 x, const enum activation which)
{
    switch (which) {
#define ROW(WORD, name, ...)                                                                       \
    case ACTIVATION_##WORD:                                                                        \
        return v_##name##_grad(x);
        EACH_ACTIVATION(ROW)
#undef ROW
    case N_ACTIVATIONS:
        break;
    }
    return x;
}

#endif
