#ifndef PRATTLE_MODEL_KERNELS_PREFETCH_H
#define PRATTLE_MODEL_KERNELS_PREFETCH_H
/*
 * Memory that a kernel prefetches into the second-level cache while it computes: `step` bytes for
 * each of its K steps, from `at` on. step is even and at most 128; 0: nothing, `at` being any
 * address.
 */
#include <stddef.h>

struct prefetch {
    const void *at;
    size_t step;
};

/* Prefetch x [n] at once: a run that is too short for the hardware prefetcher to recognize, or what
 * another core has written. */
static inline void prefetch_floats(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        __builtin_prefetch(x + i);
}

#endif
