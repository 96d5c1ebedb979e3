#ifndef PRATTLE_MODEL_KERNELS_PEAK_KERNELS_H
#define PRATTLE_MODEL_KERNELS_PEAK_KERNELS_H
/*
 * Loops that reach the machine's peak arithmetic rate and memory bandwidth, for the bench (peak.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peak_kernels {
    int lanes; /* floats in a vector register: 1, 8 or 16 */
    /* Independent fused multiply-adds on registers only, `rounds` times as many as keep the
     * pipelines full. Returns the number of floating-point operations, two for each fma. */
    double (*fma_loop)(long rounds);
    /* The sum, modulo 2^64, of the 64-bit words in n lines of 64 bytes, read as fast as memory
     * allows, with prefetches or without. */
    uint64_t (*sum_lines)(const void *lines, size_t n, bool prefetch);
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct peak_kernels *peak_kernels(void);

#endif
