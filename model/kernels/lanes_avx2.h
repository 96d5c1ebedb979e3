#ifndef PRATTLE_MODEL_KERNELS_LANES_AVX2_H
#define PRATTLE_MODEL_KERNELS_LANES_AVX2_H
/*
 * lanes.h in AVX2, FMA and F16C: sixteen floats in two registers.
 *
 * A store with a mask takes ten cycles or more on Zen 3, so sixteen lanes are loaded, kept and
 * stored without one; the branch is predicted.
 */
#include "model/kernels/lanes_define.h"
#include "model/kernels/lanes_fold.h"

#if defined(LANES_AVX2)

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

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
    if (n >= LANES_N)
        return v_load(p);
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
    if (n >= LANES_N) {
        v_store(p, a);
        return;
    }
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
    if (n >= LANES_N)
        return v_load_half(p);
    uint16_t part[LANES_N] = {0};
    memcpy(part, p, (size_t)n * sizeof *p);
    return v_load_half(part);
}
LANES __m256 v_load_i8_8(const int8_t *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
LANES struct v16 v_load_i8(const int8_t *p)
{
    return V_BOTH(v_load_i8_8(p), v_load_i8_8(p + 8));
}
LANES void v_store_i8(int8_t *p, struct v16 a)
{
    __m256i both = _mm256_packs_epi32(_mm256_cvttps_epi32(a.lo), _mm256_cvttps_epi32(a.hi));
    both = _mm256_permute4x64_epi64(both, 0xd8); /* packing goes by halves of 128 bits */
    _mm_storeu_si128((__m128i *)p, _mm_packs_epi16(_mm256_castsi256_si128(both),
                                                   _mm256_extracti128_si256(both, 1)));
}
LANES void v_store_half(uint16_t *p, struct v16 a)
{
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128((__m128i *)(p + 8), _mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT));
}
LANES void v_store_half_n(uint16_t *p, struct v16 a, int n)
{
    if (n >= LANES_N) {
        v_store_half(p, a);
        return;
    }
    uint16_t part[LANES_N];
    v_store_half(part, a);
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
    if (n >= LANES_N)
        return a;
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
/* Which lanes of 8 a mask has, ascending, each in a byte; v_fill_places fills it. */
static uint64_t v_places[256];
static void v_fill_places(void)
{
    for (unsigned mask = 0; mask < 256; mask++) {
        unsigned n = 0;
        for (uint64_t lane = 0; lane < 8; lane++)
            if (mask >> lane & 1)
                v_places[mask] |= lane << 8 * n++;
    }
}
LANES __m256i v_places8(unsigned mask)
{
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)v_places[mask]));
}
LANES size_t v_list(int32_t *to, unsigned mask, int32_t first)
{
    const unsigned lo = mask & 255, hi = mask >> 8;
    const int n = __builtin_popcount(lo);
    _mm256_storeu_si256((__m256i *)to, _mm256_add_epi32(_mm256_set1_epi32(first), v_places8(lo)));
    _mm256_storeu_si256((__m256i *)(to + n),
                        _mm256_add_epi32(_mm256_set1_epi32(first + 8), v_places8(hi)));
    return (size_t)(n + __builtin_popcount(hi));
}
LANES void v_pack(float *to, unsigned mask, struct v16 a)
{
    const unsigned lo = mask & 255, hi = mask >> 8;
    _mm256_storeu_ps(to, _mm256_permutevar8x32_ps(a.lo, v_places8(lo)));
    _mm256_storeu_ps(to + __builtin_popcount(lo), _mm256_permutevar8x32_ps(a.hi, v_places8(hi)));
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
LANES __m256i v_size8(__m256 a)
{
    return _mm256_and_si256(_mm256_castps_si256(a), _mm256_set1_epi32(INT32_MAX));
}
LANES uint32_t v_largest_bits(struct v16 a, struct v16 b)
{
    __m256i size = _mm256_max_epi32(_mm256_max_epi32(v_size8(a.lo), v_size8(a.hi)),
                                    _mm256_max_epi32(v_size8(b.lo), v_size8(b.hi)));
    __m128i s = _mm_max_epi32(_mm256_castsi256_si128(size), _mm256_extracti128_si256(size, 1));
    s = _mm_max_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    s = _mm_max_epi32(s, _mm_shuffle_epi32(s, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(s);
}
LANES struct v16 v_power_below(struct v16 a)
{
    __m256 exponent = _mm256_castsi256_ps(_mm256_set1_epi32(0x7f800000));
    return V_BOTH(_mm256_and_ps(a.lo, exponent), _mm256_and_ps(a.hi, exponent));
}
/* By two powers of two, 2^floor(n / 2) and what is left: the first product is exact. */
LANES __m256 v_scale8(__m256 a, __m256 t, __m256 base)
{
    __m256i n = _mm256_sub_epi32(_mm256_castps_si256(t), _mm256_castps_si256(base));
    __m256i half = _mm256_srai_epi32(n, 1), bias = _mm256_set1_epi32(127);
    __m256i rest = _mm256_sub_epi32(n, half);
    a = _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23)));
    return _mm256_mul_ps(a,
                         _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23)));
}
LANES struct v16 v_scale(struct v16 a, struct v16 t, struct v16 base)
{
    return V_BOTH(v_scale8(a.lo, t.lo, base.lo), v_scale8(a.hi, t.hi, base.hi));
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
LANES float v_sum(struct v16 a)
{
    return fold_sum(_mm256_add_ps(a.lo, a.hi));
}
LANES float v_greatest(struct v16 a)
{
    return fold_greatest(_mm256_max_ps(a.lo, a.hi));
}
LANES double d_sum(struct d16 s)
{
    return fold_double(_mm256_add_pd(_mm256_add_pd(s.q[0], s.q[2]), _mm256_add_pd(s.q[1], s.q[3])));
}

#endif

#endif
