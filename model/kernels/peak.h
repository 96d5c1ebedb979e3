#ifndef PRATTLE_MODEL_KERNELS_PEAK_H
#define PRATTLE_MODEL_KERNELS_PEAK_H
/*
 * The machine's peak arithmetic rate and memory bandwidth, measured with the whole thread team and
 * the active kernels: the bench's reference values. Each measurement takes about 0.1 s.
 */
#include <stddef.h>
#include <stdint.h>

/* Floating-point operations per second on registers, the most of a few tries; an fma counts as two.
 */
double peak_fma_flops(void);
/* Bytes per second of a loop in which each thread reads its share of a block and does nothing else,
 * the median of a few tries: others use the memory too, and what it gives for a moment is no limit
 * of what takes longer. */
double peak_stream_bytes(const void *block, size_t bytes);

#endif
