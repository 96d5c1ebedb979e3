#ifndef PRATTLE_MODEL_KERNELS_PEAK_KERNELS_H
#define PRATTLE_MODEL_KERNELS_PEAK_KERNELS_H
/*
 * Loops that reach the machine's peak arithmetic rate and memory bandwidth, for the bench (peak.h).
 */
#include <stddef.h>
#include <stdint.h>

struct peak_kernels {
    int lanes; /* floats in a vector register: 1, 8 or 16 */
    /* Independent fused multiply-adds on registers only, `rounds` times as many as keep the
     * pipelines full. Returns the number of floating-point operations, two for each fma. */
    double (*fma_loop)(long rounds);
    /* The sum of n binary16 numbers, read as fast as memory allows; the order is unspecified. */
    float (*stream_sum)(const uint16_t *x, size_t n);
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct peak_kernels *peak_kernels(void);

#endif
