#ifndef PRATTLE_MODEL_KERNELS_LANES_H
#define PRATTLE_MODEL_KERNELS_LANES_H
/*
 * Sixteen floats as one value (struct v16) and sixteen doubles for sums (struct d16), in three
 * forms with the same bits: AVX-512 where the including file defines LANES_AVX512, AVX2 where it
 * defines LANES_AVX2 (and is compiled for that instruction set), else plain C. Kernels over lanes
 * (functions.h, lanes_rows.h, lanes_sampling.h, ...) are therefore written once.
 *
 *   v_set(a)                        a in every lane
 *   v_load(p)  v_store(p, x)        16 floats at p, of any alignment
 *   v_load_n(p, n)                  the first n, 0 <= n <= 16, then zeros; reads no further
 *   v_store_n(p, x, n)              the first n; writes no further
 *   v_load_half(p)  v_load_half_n(p, n)  v_store_half_n(p, x, n)
 *                                   the same in binary16; the store rounds to nearest even
 *   v_load_i8(p)                    16 integers of 8 bits
 *   v_store_i8(p, a)                16 integers of 8 bits: a in -128 .. 127, truncated
 *   v_add v_sub v_mul v_div v_sqrt  rounded to nearest even
 *   v_fma(a, b, c)                  a b + c, rounded once
 *   v_max(a, b)                     a > b ? a : b, so b where either is NaN
 *   v_min(a, b)                     a < b ? a : b, so b where either is NaN
 *   v_abs(a)  v_copysign(size, sign)
 *   v_keep(a, n, other)             a in lanes below n, other in the rest
 *   v_if_greater(x, y, a, b)        x > y ? a : b
 *   v_at_least(a, b)                a mask: bit l is set where a >= b in lane l
 *   v_largest_bits(a, b)            the greatest bit pattern of |a| and |b| in any lane; it orders
 *                                   as the magnitudes do, and NaN is greater than infinity
 *   v_power_below(a)                the greatest power of two <= a, a > 0 and normal
 *   v_scale(a, t, base)             a 2^n, rounded once, n = t - base, |n| < 252, 1/2 < a < 2;
 *                                   t and base are integers of 2^23 .. 2^24; NaN where a and t are
 *   v_list(to, mask, first)         first + l for each set bit l of mask, ascending, then anything:
 *                                   16 numbers in all; returns how many bits are set
 *   v_pack(to, mask, a)             the lanes of a whose bits are set, in the same way
 *   v_gather_n(base, index, n)      base[index[l]] in lanes below n, then zeros
 *   d_zero()  d_store(out, s)
 *   d_add(s, a)  d_add_square(s, a) s + a and s + a^2, a widened to double (a^2 is then exact)
 *   v_sum  v_greatest  d_sum        one number from all lanes, by the fold of kernels.h
 */
#include "model/base/half.h"
#include "model/kernels/lanes_define.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(LANES_AVX512)
#include "model/kernels/lanes_avx512.h"
#elif defined(LANES_AVX2)
#include "model/kernels/lanes_avx2.h"
#else
#include "model/kernels/lanes_portable.h"
#endif

#if !defined(LANES_AVX512) && !defined(LANES_AVX2)
LANES size_t v_list(int32_t *to, unsigned mask, int32_t first)
{
    size_t n = 0;
    for (; mask != 0; mask &= mask - 1)
        to[n++] = first + __builtin_ctz(mask);
    return n;
}
LANES void v_pack(float *to, unsigned mask, struct v16 a)
{
    float lane[LANES_N];
    v_store(lane, a);
    for (; mask != 0; mask &= mask - 1)
        *to++ = lane[__builtin_ctz(mask)];
}
#endif
#if !defined(LANES_AVX512)
LANES struct v16 v_gather_n(const float *base, const int32_t *index, int n)
{
    float part[LANES_N] = {0};
    for (int i = 0; i < n; i++)
        part[i] = base[index[i]];
    return v_load(part);
}
#endif

/* Lanes in use at element i of n: 16, or fewer at the end. */
LANES int lanes_used(size_t n, size_t i)
{
    return n - i < LANES_N ? (int)(n - i) : LANES_N;
}

#endif
