#ifndef PRATTLE_MODEL_KERNELS_TRANSPOSE_AVX512_H
#define PRATTLE_MODEL_KERNELS_TRANSPOSE_AVX512_H
/* Sixteen registers of sixteen elements of 32 bits, transposed in place. */
#include "model/kernels/lanes_define.h"

#include <immintrin.h>

/* First pairs of rows, then pairs of pairs within 128 bits, then across the 128-bit parts. */
LANES void transpose_16x16(__m512 a[16])
{
    __m512 b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 4) {
        __m512d p = _mm512_castps_pd(b[i]), q = _mm512_castps_pd(b[i + 2]);
        __m512d s = _mm512_castps_pd(b[i + 1]), t = _mm512_castps_pd(b[i + 3]);
        a[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(p, q));
        a[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(p, q));
        a[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(s, t));
        a[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(s, t));
    }
    /* a[4 g + j]: in 128-bit part p, column 4 p + j of rows 4 g .. 4 g + 3 */
#pragma GCC unroll 16
    for (int j = 0; j < 4; j++) {
        __m512 even01 = _mm512_shuffle_f32x4(a[j], a[4 + j], 0x88);
        __m512 odd01 = _mm512_shuffle_f32x4(a[j], a[4 + j], 0xdd);
        __m512 even23 = _mm512_shuffle_f32x4(a[8 + j], a[12 + j], 0x88);
        __m512 odd23 = _mm512_shuffle_f32x4(a[8 + j], a[12 + j], 0xdd);
        b[j] = _mm512_shuffle_f32x4(even01, even23, 0x88);
        b[8 + j] = _mm512_shuffle_f32x4(even01, even23, 0xdd);
        b[4 + j] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
        b[12 + j] = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        a[i] = b[i];
}

#endif
