#ifndef PRATTLE_MODEL_KERNELS_LANES_PEAK_H
#define PRATTLE_MODEL_KERNELS_LANES_PEAK_H
/* Reading memory at full bandwidth (peak_kernels.h), over the lanes of lanes.h. */
#include "model/kernels/lanes.h"
#include "model/kernels/peak_kernels.h"

/* Four streams at once, each prefetched 1 KiB ahead: the most that one core gets. */
static float stream_sum(const uint16_t *x, size_t n)
{
    const size_t quarter = n / 256 * 64;
    struct v16 sum[8];
    for (int j = 0; j < 8; j++)
        sum[j] = v_set(0);
    for (size_t i = 0; i < quarter; i += 64)
#pragma GCC unroll 4
        for (size_t q = 0; q < 4; q++) {
            const uint16_t *p = x + q * quarter + i;
            __builtin_prefetch(p + 512);
            __builtin_prefetch(p + 544);
#pragma GCC unroll 4
            for (size_t j = 0; j < 4; j++)
                sum[q % 2 * 4 + j] = v_add(sum[q % 2 * 4 + j], v_load_half(p + 16 * j));
        }
    for (size_t i = 4 * quarter; i < n; i += LANES_N)
        sum[0] = v_add(sum[0], v_load_half_n(x + i, lanes_used(n, i)));
    for (int j = 1; j < 8; j++)
        sum[0] = v_add(sum[0], sum[j]);
    return v_sum(sum[0]);
}

#endif
