#ifndef PRATTLE_MODEL_KERNELS_LANES_AVX512_H
#define PRATTLE_MODEL_KERNELS_LANES_AVX512_H
/* lanes.h in AVX-512 (F, BW, DQ, VL): sixteen floats in one register. */
#include "model/kernels/lanes_define.h"
#include "model/kernels/lanes_fold.h"

#if defined(LANES_AVX512)

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

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
LANES struct v16 v_load_i8(const int8_t *p)
{
    __m128i q = _mm_loadu_si128((const __m128i *)p);
    return (struct v16){_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q))};
}
LANES void v_store_i8(int8_t *p, struct v16 a)
{
    _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(a.v)));
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
LANES struct v16 v_max(struct v16 a, struct v16 b)
{
    return (struct v16){_mm512_max_ps(a.v, b.v)};
}
LANES struct v16 v_min(struct v16 a, struct v16 b)
{
    return (struct v16){_mm512_min_ps(a.v, b.v)};
}
LANES struct v16 v_keep(struct v16 a, int n, struct v16 other)
{
    return (struct v16){_mm512_mask_mov_ps(other.v, v_first_n(n), a.v)};
}
LANES struct v16 v_if_greater(struct v16 x, struct v16 y, struct v16 a, struct v16 b)
{
    return (struct v16){_mm512_mask_mov_ps(b.v, _mm512_cmp_ps_mask(x.v, y.v, _CMP_GT_OQ), a.v)};
}
LANES unsigned v_at_least(struct v16 a, struct v16 b)
{
    return _mm512_cmp_ps_mask(a.v, b.v, _CMP_GE_OQ);
}
LANES size_t v_list(int32_t *to, unsigned mask, int32_t first)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i index = _mm512_add_epi32(lane, _mm512_set1_epi32(first));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((__mmask16)mask, index));
    return (size_t)__builtin_popcount(mask);
}
LANES void v_pack(float *to, unsigned mask, struct v16 a)
{
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps((__mmask16)mask, a.v));
}
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
LANES uint32_t v_largest_bits(struct v16 a, struct v16 b)
{
    const __m512i m = _mm512_set1_epi32(INT32_MAX);
    __m512i size = _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(a.v), m),
                                    _mm512_and_si512(_mm512_castps_si512(b.v), m));
    return (uint32_t)_mm512_reduce_max_epi32(size);
}
LANES struct v16 v_power_below(struct v16 a)
{
    __m512i exponent = _mm512_set1_epi32(0x7f800000);
    return (struct v16){_mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(a.v), exponent))};
}
LANES struct v16 v_scale(struct v16 a, struct v16 t, struct v16 base)
{
    return (struct v16){_mm512_scalef_ps(a.v, _mm512_sub_ps(t.v, base.v))};
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
LANES float v_sum(struct v16 a)
{
    return fold_sum(_mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1)));
}
LANES float v_greatest(struct v16 a)
{
    return fold_greatest(
        _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1)));
}
LANES double d_sum(struct d16 s)
{
    __m512d a = _mm512_add_pd(s.lo, s.hi);
    return fold_double(_mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1)));
}

#endif

#endif
