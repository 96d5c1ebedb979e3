#ifndef PRATTLE_MODEL_KERNELS_LANE_WORDS_H
#define PRATTLE_MODEL_KERNELS_LANE_WORDS_H
/*
 * Sixteen 32-bit words as one value (struct w16), in the three forms of lanes.h, and the
 * Philox4x32-10 generator (model/base/rng.h) over sixteen counters at once.
 */
#include "model/kernels/lanes.h"

#if defined(LANES_AVX512)

struct w16 {
    __m512i v;
};

LANES struct w16 w_set(uint32_t a)
{
    return (struct w16){_mm512_set1_epi32((int)a)};
}
/* a, a + 1, ..., a + 15 */
LANES struct w16 w_count(uint32_t a)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return (struct w16){_mm512_add_epi32(_mm512_set1_epi32((int)a), lane)};
}
LANES struct w16 w_xor(struct w16 a, struct w16 b)
{
    return (struct w16){_mm512_xor_si512(a.v, b.v)};
}
/* The high and low 32 bits of a m in each lane. */
LANES void w_multiply(struct w16 *high, struct w16 *low, struct w16 a, uint32_t m)
{
    const __m512i by = _mm512_set1_epi32((int)m);
    __m512i even = _mm512_mul_epu32(a.v, by);
    __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a.v, 32), by);
    high->v = _mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0xaaaa, odd);
    low->v = _mm512_mask_mov_epi32(even, 0xaaaa, _mm512_slli_epi64(odd, 32));
}
/* x where the word is below limit, else 0. */
LANES struct v16 v_if_below(struct v16 x, struct w16 word, uint32_t limit)
{
    __mmask16 below = _mm512_cmplt_epu32_mask(word.v, _mm512_set1_epi32((int)limit));
    return (struct v16){_mm512_maskz_mov_ps(below, x.v)};
}
/* The word's upper 23 bits as a fraction in [0, 1). */
LANES struct v16 w_fraction(struct w16 word)
{
    __m512i one = _mm512_set1_epi32(0x3f800000);
    __m512 up = _mm512_castsi512_ps(_mm512_or_si512(_mm512_srli_epi32(word.v, 9), one));
    return (struct v16){_mm512_sub_ps(up, _mm512_set1_ps(1))};
}

#elif defined(LANES_AVX2)

struct w16 {
    __m256i lo, hi;
};

LANES struct w16 w_set(uint32_t a)
{
    return (struct w16){_mm256_set1_epi32((int)a), _mm256_set1_epi32((int)a)};
}
LANES struct w16 w_count(uint32_t a)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return (struct w16){_mm256_add_epi32(_mm256_set1_epi32((int)a), lane),
                        _mm256_add_epi32(_mm256_set1_epi32((int)(a + 8)), lane)};
}
LANES struct w16 w_xor(struct w16 a, struct w16 b)
{
    return (struct w16){_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)};
}
LANES void w_multiply8(__m256i *high, __m256i *low, __m256i a, __m256i by)
{
    __m256i even = _mm256_mul_epu32(a, by);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), by);
    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}
LANES void w_multiply(struct w16 *high, struct w16 *low, struct w16 a, uint32_t m)
{
    const __m256i by = _mm256_set1_epi32((int)m);
    w_multiply8(&high->lo, &low->lo, a.lo, by);
    w_multiply8(&high->hi, &low->hi, a.hi, by);
}
LANES __m256 v_if_below8(__m256 x, __m256i word, __m256i limit)
{
    const __m256i sign = _mm256_set1_epi32(INT32_MIN); /* there is only a signed comparison */
    __m256i below = _mm256_cmpgt_epi32(_mm256_xor_si256(limit, sign), _mm256_xor_si256(word, sign));
    return _mm256_and_ps(x, _mm256_castsi256_ps(below));
}
LANES struct v16 v_if_below(struct v16 x, struct w16 word, uint32_t limit)
{
    const __m256i by = _mm256_set1_epi32((int)limit);
    return V_BOTH(v_if_below8(x.lo, word.lo, by), v_if_below8(x.hi, word.hi, by));
}
LANES __m256 w_fraction8(__m256i word)
{
    __m256i up = _mm256_or_si256(_mm256_srli_epi32(word, 9), _mm256_set1_epi32(0x3f800000));
    return _mm256_sub_ps(_mm256_castsi256_ps(up), _mm256_set1_ps(1));
}
LANES struct v16 w_fraction(struct w16 word)
{
    return V_BOTH(w_fraction8(word.lo), w_fraction8(word.hi));
}

#else

struct w16 {
    uint32_t w[LANES_N];
};

LANES struct w16 w_set(uint32_t a)
{
    struct w16 out;
    for (int i = 0; i < LANES_N; i++)
        out.w[i] = a;
    return out;
}
LANES struct w16 w_count(uint32_t a)
{
    struct w16 out;
    for (uint32_t i = 0; i < LANES_N; i++)
        out.w[i] = a + i;
    return out;
}
LANES struct w16 w_xor(struct w16 a, struct w16 b)
{
    for (int i = 0; i < LANES_N; i++)
        a.w[i] ^= b.w[i];
    return a;
}
LANES void w_multiply(struct w16 *high, struct w16 *low, struct w16 a, uint32_t m)
{
    for (int i = 0; i < LANES_N; i++) {
        uint64_t product = (uint64_t)m * a.w[i];
        high->w[i] = (uint32_t)(product >> 32);
        low->w[i] = (uint32_t)product;
    }
}
LANES struct v16 v_if_below(struct v16 x, struct w16 word, uint32_t limit)
{
    V_EACH(word.w[i] < limit ? x.f[i] : 0);
}
LANES struct v16 w_fraction(struct w16 word)
{
    V_EACH(float_of_bits(word.w[i] >> 9 | 0x3f800000u) - 1);
}

#endif

/* The four words of counters first .. first + 15, first a multiple of 16. */
LANES void w_philox(struct w16 w[4], uint64_t seed, uint64_t stream, uint64_t first)
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    w[0] = w_count((uint32_t)first);
    w[1] = w_set((uint32_t)(first >> 32));
    w[2] = w_set((uint32_t)stream);
    w[3] = w_set((uint32_t)(stream >> 32));
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        struct w16 high0, low0, high2, low2;
        w_multiply(&high0, &low0, w[0], 0xD2511F53u);
        w_multiply(&high2, &low2, w[2], 0xCD9E8D57u);
        w[0] = w_xor(w_xor(high2, w[1]), w_set(k0));
        w[2] = w_xor(w_xor(high0, w[3]), w_set(k1));
        w[1] = low2;
        w[3] = low0;
    }
}

#endif
