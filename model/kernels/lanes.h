#ifndef PRATTLE_MODEL_KERNELS_LANES_H
#define PRATTLE_MODEL_KERNELS_LANES_H
/*
 * Sixteen floats as one value, in three forms with the same results: LANES_AVX512,
 * LANES_AVX2 (the including file is compiled for it), or plain C. What is written over
 * these lanes (functions.h, lanes_*.h) is written once.
 */
#include "model/base/half.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES static inline __attribute__((always_inline))

enum { LANES_N = 16 };

#if defined(LANES_AVX512)

#include <immintrin.h>

struct v16 {
    __m512 v;
};
struct d16 {
    __m512d lo, hi;
};

LANES __mmask16 v_first_n(int n)
{
    return (__mmask16)((1u << n) - 1);
}
LANES struct v16 v_set(float a)
{
    return (struct v16){_mm512_set1_ps(a)};
}
LANES struct v16 v_load(const float *p)
{
    return (struct v16){_mm512_loadu_ps(p)};
}
LANES struct v16 v_load_n(const float *p, int n)
{
    return (struct v16){_mm512_maskz_loadu_ps(v_first_n(n), p)};
}
LANES void v_store(float *p, struct v16 a)
{
    _mm512_storeu_ps(p, a.v);
}
LANES void v_store_n(float *p, struct v16 a, int n)
{
    _mm512_mask_storeu_ps(p, v_first_n(n), a.v);
}
LANES struct v16 v_load_half(const uint16_t *p)
{
    return (struct v16){_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p))};
}
LANES struct v16 v_load_half_n(const uint16_t *p, int n)
{
    return (struct v16){_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(v_first_n(n), p))};
}
LANES void v_store_half_n(uint16_t *p, struct v16 a, int n)
{
    _mm256_mask_storeu_epi16(p, v_first_n(n), _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT));
}
LANES struct v16 v_add(struct v16 a, struct v16 b)
{
    return (struct v16){_mm512_add_ps(a.v, b.v)};
}
LANES struct v16 v_sub(struct v16 a, struct v16 b)
{
    return (struct v16){_mm512_sub_ps(a.v, b.v)};
}
LANES struct v16 v_mul(struct v16 a, struct v16 b)
{
    return (struct v16){_mm512_mul_ps(a.v, b.v)};
}
LANES struct v16 v_div(struct v16 a, struct v16 b)
{
    return (struct v16){_mm512_div_ps(a.v, b.v)};
}
LANES struct v16 v_sqrt(struct v16 a)
{
    return (struct v16){_mm512_sqrt_ps(a.v)};
}
LANES struct v16 v_fma(struct v16 a, struct v16 b, struct v16 c)
{
    return (struct v16){_mm512_fmadd_ps(a.v, b.v, c.v)};
}
/* a > b ? a : b, so b where one is NaN; v_min likewise. */
LANES struct v16 v_max(struct v16 a, struct v16 b)
{
    return (struct v16){_mm512_max_ps(a.v, b.v)};
}
LANES struct v16 v_min(struct v16 a, struct v16 b)
{
    return (struct v16){_mm512_min_ps(a.v, b.v)};
}
/* Lanes from n on become other. */
LANES struct v16 v_keep(struct v16 a, int n, struct v16 other)
{
    return (struct v16){_mm512_mask_mov_ps(other.v, v_first_n(n), a.v)};
}
/* x > y ? a : b */
LANES struct v16 v_if_greater(struct v16 x, struct v16 y, struct v16 a, struct v16 b)
{
    return (struct v16){_mm512_mask_mov_ps(b.v, _mm512_cmp_ps_mask(x.v, y.v, _CMP_GT_OQ), a.v)};
}
LANES unsigned v_at_least(struct v16 a, struct v16 b)
{
    return _mm512_cmp_ps_mask(a.v, b.v, _CMP_GE_OQ);
}
/* first + i for the bits i of hit, ascending; how many. */
LANES size_t v_list(int32_t *to, unsigned hit, int32_t first)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const int n = __builtin_popcount(hit);
    __m512i index = _mm512_add_epi32(lane, _mm512_set1_epi32(first));
    _mm512_mask_storeu_epi32(to, v_first_n(n), _mm512_maskz_compress_epi32((__mmask16)hit, index));
    return (size_t)n;
}
/* base[index[i]], i < n, then 0 */
LANES struct v16 v_gather_n(const float *base, const int32_t *index, int n)
{
    __m512i at = _mm512_maskz_loadu_epi32(v_first_n(n), index);
    return (struct v16){
        _mm512_mask_i32gather_ps(_mm512_setzero_ps(), v_first_n(n), at, base, sizeof *base)};
}
LANES struct v16 v_abs(struct v16 a)
{
    return (struct v16){_mm512_abs_ps(a.v)};
}
LANES struct v16 v_copysign(struct v16 size, struct v16 sign)
{
    __m512i m = _mm512_set1_epi32(INT32_MIN);
    return (struct v16){_mm512_castsi512_ps(_mm512_ternarylogic_epi32(
        m, _mm512_castps_si512(sign.v), _mm512_castps_si512(size.v), 0xca))};
}
/* The power of two at or below each normal number. */
LANES struct v16 v_power_below(struct v16 a)
{
    __m512i exponent = _mm512_set1_epi32(0x7f800000);
    return (struct v16){_mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(a.v), exponent))};
}
/* 2 to the power of (the integer n in the low bits of t - base) / 2, rounded down, and
 * of what is left of n: together 2^n even where that is no normal number. */
LANES void v_powers(struct v16 t, struct v16 base, struct v16 *first, struct v16 *second)
{
    __m512i n = _mm512_sub_epi32(_mm512_castps_si512(t.v), _mm512_castps_si512(base.v));
    __m512i half = _mm512_srai_epi32(n, 1), bias = _mm512_set1_epi32(127);
    first->v = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(half, bias), 23));
    second->v = _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_add_epi32(_mm512_sub_epi32(n, half), bias), 23));
}
LANES struct d16 d_zero(void)
{
    return (struct d16){_mm512_setzero_pd(), _mm512_setzero_pd()};
}
LANES struct d16 d_add(struct d16 s, struct v16 a)
{
    s.lo = _mm512_add_pd(s.lo, _mm512_cvtps_pd(_mm512_castps512_ps256(a.v)));
    s.hi = _mm512_add_pd(s.hi, _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1)));
    return s;
}
/* The squares of floats are exact in doubles. */
LANES struct d16 d_add_square(struct d16 s, struct v16 a)
{
    __m512d lo = _mm512_cvtps_pd(_mm512_castps512_ps256(a.v));
    __m512d hi = _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1));
    return (struct d16){_mm512_fmadd_pd(lo, lo, s.lo), _mm512_fmadd_pd(hi, hi, s.hi)};
}
LANES void d_store(double out[LANES_N], struct d16 s)
{
    _mm512_storeu_pd(out, s.lo);
    _mm512_storeu_pd(out + 8, s.hi);
}

#elif defined(LANES_AVX2)

#include <immintrin.h>

struct v16 {
    __m256 lo, hi;
};
struct d16 {
    __m256d q[4];
};

#define V_BOTH(expression_lo, expression_hi) ((struct v16){(expression_lo), (expression_hi)})

LANES __m256i v_mask8(int n) /* lanes below n; any n */
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane);
}
LANES struct v16 v_set(float a)
{
    return V_BOTH(_mm256_set1_ps(a), _mm256_set1_ps(a));
}
LANES struct v16 v_load(const float *p)
{
    return V_BOTH(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8));
}
LANES struct v16 v_load_n(const float *p, int n)
{
    if (n <= 8)
        return V_BOTH(_mm256_maskload_ps(p, v_mask8(n)), _mm256_setzero_ps());
    return V_BOTH(_mm256_loadu_ps(p), _mm256_maskload_ps(p + 8, v_mask8(n - 8)));
}
LANES void v_store(float *p, struct v16 a)
{
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
}
LANES void v_store_n(float *p, struct v16 a, int n)
{
    _mm256_maskstore_ps(p, v_mask8(n), a.lo);
    if (n > 8)
        _mm256_maskstore_ps(p + 8, v_mask8(n - 8), a.hi);
}
LANES struct v16 v_load_half(const uint16_t *p)
{
    return V_BOTH(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)),
                  _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + 8))));
}
LANES struct v16 v_load_half_n(const uint16_t *p, int n)
{
    uint16_t part[LANES_N] = {0};
    memcpy(part, p, (size_t)n * sizeof *p);
    return v_load_half(part);
}
LANES void v_store_half_n(uint16_t *p, struct v16 a, int n)
{
    uint16_t part[LANES_N];
    _mm_storeu_si128((__m128i *)part, _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128((__m128i *)(part + 8), _mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT));
    memcpy(p, part, (size_t)n * sizeof *p);
}
LANES struct v16 v_add(struct v16 a, struct v16 b)
{
    return V_BOTH(_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi));
}
LANES struct v16 v_sub(struct v16 a, struct v16 b)
{
    return V_BOTH(_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi));
}
LANES struct v16 v_mul(struct v16 a, struct v16 b)
{
    return V_BOTH(_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi));
}
LANES struct v16 v_div(struct v16 a, struct v16 b)
{
    return V_BOTH(_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi));
}
LANES struct v16 v_sqrt(struct v16 a)
{
    return V_BOTH(_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi));
}
LANES struct v16 v_fma(struct v16 a, struct v16 b, struct v16 c)
{
    return V_BOTH(_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi));
}
LANES struct v16 v_max(struct v16 a, struct v16 b)
{
    return V_BOTH(_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi));
}
LANES struct v16 v_min(struct v16 a, struct v16 b)
{
    return V_BOTH(_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi));
}
LANES struct v16 v_keep(struct v16 a, int n, struct v16 other)
{
    return V_BOTH(_mm256_blendv_ps(other.lo, a.lo, _mm256_castsi256_ps(v_mask8(n))),
                  _mm256_blendv_ps(other.hi, a.hi, _mm256_castsi256_ps(v_mask8(n - 8))));
}
LANES struct v16 v_if_greater(struct v16 x, struct v16 y, struct v16 a, struct v16 b)
{
    return V_BOTH(_mm256_blendv_ps(b.lo, a.lo, _mm256_cmp_ps(x.lo, y.lo, _CMP_GT_OQ)),
                  _mm256_blendv_ps(b.hi, a.hi, _mm256_cmp_ps(x.hi, y.hi, _CMP_GT_OQ)));
}
LANES unsigned v_at_least(struct v16 a, struct v16 b)
{
    unsigned lo = (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a.lo, b.lo, _CMP_GE_OQ));
    unsigned hi = (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a.hi, b.hi, _CMP_GE_OQ));
    return lo | hi << 8;
}
LANES struct v16 v_abs(struct v16 a)
{
    __m256 m = _mm256_castsi256_ps(_mm256_set1_epi32(INT32_MAX));
    return V_BOTH(_mm256_and_ps(a.lo, m), _mm256_and_ps(a.hi, m));
}
LANES struct v16 v_copysign(struct v16 size, struct v16 sign)
{
    __m256 m = _mm256_castsi256_ps(_mm256_set1_epi32(INT32_MIN));
    return V_BOTH(_mm256_or_ps(_mm256_andnot_ps(m, size.lo), _mm256_and_ps(m, sign.lo)),
                  _mm256_or_ps(_mm256_andnot_ps(m, size.hi), _mm256_and_ps(m, sign.hi)));
}
LANES struct v16 v_power_below(struct v16 a)
{
    __m256 exponent = _mm256_castsi256_ps(_mm256_set1_epi32(0x7f800000));
    return V_BOTH(_mm256_and_ps(a.lo, exponent), _mm256_and_ps(a.hi, exponent));
}
LANES void v_powers8(__m256 t, __m256 base, __m256 *first, __m256 *second)
{
    __m256i n = _mm256_sub_epi32(_mm256_castps_si256(t), _mm256_castps_si256(base));
    __m256i half = _mm256_srai_epi32(n, 1), bias = _mm256_set1_epi32(127);
    *first = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    *second = _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(n, half), bias), 23));
}
LANES void v_powers(struct v16 t, struct v16 base, struct v16 *first, struct v16 *second)
{
    v_powers8(t.lo, base.lo, &first->lo, &second->lo);
    v_powers8(t.hi, base.hi, &first->hi, &second->hi);
}
LANES struct d16 d_zero(void)
{
    __m256d z = _mm256_setzero_pd();
    return (struct d16){{z, z, z, z}};
}
LANES struct d16 d_add(struct d16 s, struct v16 a)
{
    s.q[0] = _mm256_add_pd(s.q[0], _mm256_cvtps_pd(_mm256_castps256_ps128(a.lo)));
    s.q[1] = _mm256_add_pd(s.q[1], _mm256_cvtps_pd(_mm256_extractf128_ps(a.lo, 1)));
    s.q[2] = _mm256_add_pd(s.q[2], _mm256_cvtps_pd(_mm256_castps256_ps128(a.hi)));
    s.q[3] = _mm256_add_pd(s.q[3], _mm256_cvtps_pd(_mm256_extractf128_ps(a.hi, 1)));
    return s;
}
LANES struct d16 d_add_square(struct d16 s, struct v16 a)
{
    const __m128 part[4] = {_mm256_castps256_ps128(a.lo), _mm256_extractf128_ps(a.lo, 1),
                            _mm256_castps256_ps128(a.hi), _mm256_extractf128_ps(a.hi, 1)};
    for (int i = 0; i < 4; i++) {
        __m256d d = _mm256_cvtps_pd(part[i]);
        s.q[i] = _mm256_fmadd_pd(d, d, s.q[i]);
    }
    return s;
}
LANES void d_store(double out[LANES_N], struct d16 s)
{
    for (int i = 0; i < 4; i++)
        _mm256_storeu_pd(out + 4 * i, s.q[i]);
}

#else

struct v16 {
    float f[LANES_N];
};
struct d16 {
    double d[LANES_N];
};

#define V_EACH(expression)                                                                         \
    struct v16 out;                                                                                \
    for (int i = 0; i < LANES_N; i++)                                                              \
        out.f[i] = (expression);                                                                   \
    return out

LANES struct v16 v_set(float a)
{
    V_EACH(a);
}
LANES struct v16 v_load(const float *p)
{
    V_EACH(p[i]);
}
LANES struct v16 v_load_n(const float *p, int n)
{
    V_EACH(i < n ? p[i] : 0);
}
LANES void v_store_n(float *p, struct v16 a, int n)
{
    memcpy(p, a.f, (size_t)n * sizeof *p);
}
LANES void v_store(float *p, struct v16 a)
{
    memcpy(p, a.f, sizeof a.f);
}
LANES struct v16 v_load_half_n(const uint16_t *p, int n)
{
    V_EACH(i < n ? half_to_f32(p[i]) : 0);
}
LANES struct v16 v_load_half(const uint16_t *p)
{
    V_EACH(half_to_f32(p[i]));
}
LANES void v_store_half_n(uint16_t *p, struct v16 a, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = half_from_f32(a.f[i]);
}
LANES struct v16 v_add(struct v16 a, struct v16 b)
{
    V_EACH(a.f[i] + b.f[i]);
}
LANES struct v16 v_sub(struct v16 a, struct v16 b)
{
    V_EACH(a.f[i] - b.f[i]);
}
LANES struct v16 v_mul(struct v16 a, struct v16 b)
{
    V_EACH(a.f[i] * b.f[i]);
}
LANES struct v16 v_div(struct v16 a, struct v16 b)
{
    V_EACH(a.f[i] / b.f[i]);
}
LANES struct v16 v_sqrt(struct v16 a)
{
    V_EACH(sqrtf(a.f[i]));
}
LANES struct v16 v_fma(struct v16 a, struct v16 b, struct v16 c)
{
    V_EACH(fmaf(a.f[i], b.f[i], c.f[i]));
}
LANES struct v16 v_max(struct v16 a, struct v16 b)
{
    V_EACH(a.f[i] > b.f[i] ? a.f[i] : b.f[i]);
}
LANES struct v16 v_min(struct v16 a, struct v16 b)
{
    V_EACH(a.f[i] < b.f[i] ? a.f[i] : b.f[i]);
}
LANES struct v16 v_keep(struct v16 a, int n, struct v16 other)
{
    V_EACH(i < n ? a.f[i] : other.f[i]);
}
LANES struct v16 v_if_greater(struct v16 x, struct v16 y, struct v16 a, struct v16 b)
{
    V_EACH(x.f[i] > y.f[i] ? a.f[i] : b.f[i]);
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
    V_EACH(fabsf(a.f[i]));
}
LANES struct v16 v_copysign(struct v16 size, struct v16 sign)
{
    V_EACH(copysignf(size.f[i], sign.f[i]));
}
LANES struct v16 v_power_below(struct v16 a)
{
    V_EACH(half_float(half_bits(a.f[i]) & 0x7f800000u));
}
LANES void v_powers(struct v16 t, struct v16 base, struct v16 *first, struct v16 *second)
{
    for (int i = 0; i < LANES_N; i++) {
        uint32_t n = half_bits(t.f[i]) - half_bits(base.f[i]);
        uint32_t half = n >> 1 | (n & 0x80000000u);
        first->f[i] = half_float((half + 127u) << 23);
        second->f[i] = half_float((n - half + 127u) << 23);
    }
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

#endif

/* The fold of kernels.h: lane l with lane l + half, until one is left. */
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

#if !defined(LANES_AVX512)
LANES size_t v_list(int32_t *to, unsigned hit, int32_t first)
{
    size_t n = 0;
    for (; hit != 0; hit &= hit - 1)
        to[n++] = first + __builtin_ctz(hit);
    return n;
}
LANES struct v16 v_gather_n(const float *base, const int32_t *index, int n)
{
    float part[LANES_N] = {0};
    for (int i = 0; i < n; i++)
        part[i] = base[index[i]];
    return v_load(part);
}
#endif

/* Lanes used by the step at i of n: 16, or the tail. */
LANES int tail(size_t n, size_t i)
{
    return n - i < LANES_N ? (int)(n - i) : LANES_N;
}

#endif
