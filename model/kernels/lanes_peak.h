#ifndef PRATTLE_MODEL_KERNELS_LANES_PEAK_H
#define PRATTLE_MODEL_KERNELS_LANES_PEAK_H
/* Reading memory at full bandwidth (peak_kernels.h), a cache line at a time. */
#include "model/kernels/peak_kernels.h"

typedef uint64_t half_line __attribute__((vector_size(32), aligned(8), may_alias));

/* With prefetches in four streams, each 1 KiB ahead: the most that one core gets by instructions.
 */
static uint64_t sum_lines(const void *lines, size_t n, bool prefetch)
{
    const half_line *at = lines;
    const size_t quarter = prefetch ? n / 4 * 2 : 0;
    half_line sum[4] = {{0}}, all;
    for (size_t i = 0; i < quarter; i += 2)
#pragma GCC unroll 4
        for (size_t q = 0; q < 4; q++) {
            const half_line *p = at + q * quarter + i;
            __builtin_prefetch(p + 32);
            sum[q] += p[0] + p[1];
        }
    size_t i = 4 * quarter;
    for (; i + 4 <= 2 * n; i += 4)
#pragma GCC unroll 4
        for (size_t q = 0; q < 4; q++)
            sum[q] += at[i + q];
    for (; i < 2 * n; i++)
        sum[0] += at[i];
    all = sum[0] + sum[1] + sum[2] + sum[3];
    return all[0] + all[1] + all[2] + all[3];
}

#endif
