#ifndef PRATTLE_MODEL_KERNELS_PEAK_H
#define PRATTLE_MODEL_KERNELS_PEAK_H
/*
 * What the machine can do at best, measured with the whole team and the active table:
 * the yardsticks of the bench. Each takes about a tenth of a second.
 */
#include <stddef.h>
#include <stdint.h>

/* Floating-point operations a second on registers, a multiply-add counted as two. */
double peak_fma_flops(void);
/* Bytes a second of a loop that widens and adds binary16 numbers, every thread its part. */
double peak_stream_bytes(const void *fp16, size_t bytes);

#endif
