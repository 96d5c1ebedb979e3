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

#endif
