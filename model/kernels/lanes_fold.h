#ifndef PRATTLE_MODEL_KERNELS_LANES_FOLD_H
#define PRATTLE_MODEL_KERNELS_LANES_FOLD_H
/* The fold of kernels.h in x86 registers, once the upper lanes of one have been added to the lower.
 */
#include "model/kernels/lanes_define.h"

#if defined(LANES_AVX512) || defined(LANES_AVX2)

#include <immintrin.h>

LANES float fold_sum(__m256 a)
{
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}
LANES float fold_greatest(__m256 a)
{
    __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_movehdup_ps(b)));
}
LANES double fold_double(__m256d a)
{
    __m128d b = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(b, _mm_unpackhi_pd(b, b)));
}

#endif

#endif
