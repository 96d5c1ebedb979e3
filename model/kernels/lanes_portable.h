#ifndef PRATTLE_MODEL_KERNELS_LANES_PORTABLE_H
#define PRATTLE_MODEL_KERNELS_LANES_PORTABLE_H
/* lanes.h in plain C and the vector types of gcc and clang, which are cut into whatever registers
 * there are: the reference for the other two forms. */
#include "model/base/half.h"
#include "model/kernels/lanes_define.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float float_lanes __attribute__((vector_size(64)));
typedef int32_t int_lanes __attribute__((vector_size(64)));
struct v16 {
    float_lanes f;
};
struct d16 {
    double d[LANES_N];
};

#define V_EACH(expression)                                                                         \
    struct v16 out;                                                                                \
    for (int i = 0; i < LANES_N; i++)                                                              \
        out.f[i] = (expression);                                                                   \
    return out

LANES struct v16 v_of_bits(int_lanes bits)
{
    return (struct v16){(float_lanes)bits};
}
/* Where the condition, all or none of a lane's bits, is true x, else y. */
LANES struct v16 v_choose(int_lanes condition, struct v16 x, struct v16 y)
{
    return v_of_bits(((int_lanes)x.f & condition) | ((int_lanes)y.f & ~condition));
}
LANES struct v16 v_set(float a)
{
    return (struct v16){{a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a}};
}
LANES struct v16 v_load(const float *p)
{
    struct v16 out;
    memcpy(&out, p, sizeof out);
    return out;
}
LANES struct v16 v_load_n(const float *p, int n)
{
    V_EACH(i < n ? p[i] : 0);
}
LANES void v_store_n(float *p, struct v16 a, int n)
{
    memcpy(p, &a.f, (size_t)n * sizeof *p);
}
LANES void v_store(float *p, struct v16 a)
{
    memcpy(p, &a.f, sizeof a.f);
}
LANES struct v16 v_load_half_n(const uint16_t *p, int n)
{
    V_EACH(i < n ? half_to_f32(p[i]) : 0);
}
LANES struct v16 v_load_half(const uint16_t *p)
{
    V_EACH(half_to_f32(p[i]));
}
LANES struct v16 v_load_i8(const int8_t *p)
{
    V_EACH((float)p[i]);
}
LANES void v_store_i8(int8_t *p, struct v16 a)
{
    for (int i = 0; i < LANES_N; i++)
        p[i] = (int8_t)(int32_t)a.f[i];
}
LANES void v_store_half_n(uint16_t *p, struct v16 a, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = half_from_f32(a.f[i]);
}
LANES struct v16 v_add(struct v16 a, struct v16 b)
{
    return (struct v16){a.f + b.f};
}
LANES struct v16 v_sub(struct v16 a, struct v16 b)
{
    return (struct v16){a.f - b.f};
}
LANES struct v16 v_mul(struct v16 a, struct v16 b)
{
    return (struct v16){a.f * b.f};
}
LANES struct v16 v_div(struct v16 a, struct v16 b)
{
    return (struct v16){a.f / b.f};
}
LANES struct v16 v_sqrt(struct v16 a)
{
    V_EACH(sqrtf(a.f[i]));
}
/* With one rounding. Where the processor has no instruction for it that the compiler may use, fmaf
 * is a call, and often a slow one. In float64 a product of floats is exact; to round a sum there
 * and again to float32 is to round it once, unless it falls halfway between two floats or the float
 * is subnormal: those are fmaf's. */
LANES struct v16 v_fma(struct v16 a, struct v16 b, struct v16 c)
{
#ifdef __FP_FAST_FMAF
    V_EACH(fmaf(a.f[i], b.f[i], c.f[i]));
#else
    struct v16 out;
    unsigned halfway = 0, subnormal = 0;
    for (int i = 0; i < LANES_N; i++) {
        const double s = (double)a.f[i] * (double)b.f[i] + (double)c.f[i];
        uint64_t bits;
        memcpy(&bits, &s, sizeof bits);
        halfway |= ((uint32_t)bits & 0x1fffffffu) == 0x10000000u;
        out.f[i] = (float)s;
    }
    /* And the smallest that is not, which a subnormal may have been rounded to. */
    for (int i = 0; i < LANES_N; i++)
        subnormal |= (float_bits(out.f[i]) & 0x7fffffffu) - 1 < 0x800000u;
    if (halfway | subnormal)
        for (int i = 0; i < LANES_N; i++)
            out.f[i] = fmaf(a.f[i], b.f[i], c.f[i]);
    return out;
#endif
}
LANES struct v16 v_max(struct v16 a, struct v16 b)
{
    return v_choose(a.f > b.f, a, b);
}
LANES struct v16 v_min(struct v16 a, struct v16 b)
{
    return v_choose(a.f < b.f, a, b);
}
LANES struct v16 v_keep(struct v16 a, int n, struct v16 other)
{
    V_EACH(i < n ? a.f[i] : other.f[i]);
}
LANES struct v16 v_if_greater(struct v16 x, struct v16 y, struct v16 a, struct v16 b)
{
    return v_choose(x.f > y.f, a, b);
}
LANES unsigned v_at_least(struct v16 a, struct v16 b)
{
    unsigned mask = 0;
    for (int i = 0; i < LANES_N; i++)
        mask |= (unsigned)(a.f[i] >= b.f[i]) << i;
    return mask;
}
LANES struct v16 v_abs(struct v16 a)
{
    return v_of_bits((int_lanes)a.f & 0x7fffffff);
}
LANES struct v16 v_copysign(struct v16 size, struct v16 sign)
{
    return v_of_bits(((int_lanes)size.f & 0x7fffffff) | ((int_lanes)sign.f & ~0x7fffffff));
}
LANES uint32_t v_largest_bits(struct v16 a, struct v16 b)
{
    uint32_t largest = 0;
    for (int i = 0; i < 2 * LANES_N; i++) {
        const float x = i < LANES_N ? a.f[i] : b.f[i - LANES_N];
        const uint32_t size = float_bits(x) & 0x7fffffffu;
        largest = size > largest ? size : largest;
    }
    return largest;
}
LANES struct v16 v_power_below(struct v16 a)
{
    return v_of_bits((int_lanes)a.f & 0x7f800000);
}
/* By two powers of two, 2^floor(n / 2) and what is left: the first product is exact. */
LANES struct v16 v_scale(struct v16 a, struct v16 t, struct v16 base)
{
    for (int i = 0; i < LANES_N; i++) {
        uint32_t n = float_bits(t.f[i]) - float_bits(base.f[i]);
        uint32_t half = n >> 1 | (n & 0x80000000u);
        a.f[i] *= float_of_bits((half + 127u) << 23);
        a.f[i] *= float_of_bits((n - half + 127u) << 23);
    }
    return a;
}
LANES struct d16 d_zero(void)
{
    return (struct d16){{0}};
}
LANES struct d16 d_add(struct d16 s, struct v16 a)
{
    for (int i = 0; i < LANES_N; i++)
        s.d[i] += (double)a.f[i];
    return s;
}
LANES struct d16 d_add_square(struct d16 s, struct v16 a)
{
    for (int i = 0; i < LANES_N; i++)
        s.d[i] += (double)a.f[i] * (double)a.f[i];
    return s;
}
LANES void d_store(double out[LANES_N], struct d16 s)
{
    memcpy(out, s.d, sizeof s.d);
}
/* Lane l with lane l + half, until one lane is left. */
LANES float v_sum(struct v16 a)
{
    float f[LANES_N];
    v_store(f, a);
    for (int half = LANES_N / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            f[l] += f[l + half];
    return f[0];
}
LANES float v_greatest(struct v16 a)
{
    float f[LANES_N];
    v_store(f, a);
    for (int half = LANES_N / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            f[l] = f[l] > f[l + half] ? f[l] : f[l + half];
    return f[0];
}
LANES double d_sum(struct d16 a)
{
    double d[LANES_N];
    d_store(d, a);
    for (int half = LANES_N / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            d[l] += d[l + half];
    return d[0];
}

#endif
