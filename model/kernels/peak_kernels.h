#ifndef PRATTLE_MODEL_KERNELS_PEAK_KERNELS_H
#define PRATTLE_MODEL_KERNELS_PEAK_KERNELS_H
/*
 * What the machine can do at most: for the bench (peak.h).
 */
#include <stddef.h>
#include <stdint.h>

struct peak_kernels {
    int lanes; /* floats in a vector register: 1, 8 or 16 */
    /* `rounds` times as many independent multiply-adds on registers as
     * keep the machine busy; how many floating-point operations that was. */
    double (*fma_loop)(long rounds);
    /* Sum of n binary16 numbers as fast as memory gives them, in no order worth knowing. */
    float (*stream_sum)(const uint16_t *x, size_t n);
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct peak_kernels *peak_kernels(void);

#endif
