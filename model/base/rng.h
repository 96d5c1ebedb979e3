#ifndef PRATTLE_MODEL_BASE_RNG_H
#define PRATTLE_MODEL_BASE_RNG_H
/*
 * Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel Random
 * Numbers: As Easy as 1, 2, 3", SC 2011). There is no state: each number is a function of
 * (seed, stream, counter), so any thread can compute any number.
 */
#include <stddef.h>
#include <stdint.h>

/* The four 32-bit words of (seed, stream, counter). */
void rng_words(uint32_t out[4], uint64_t seed, uint64_t stream, uint64_t counter);
/* Uniform in [0, 1), 53 bits. */
double rng_uniform(uint64_t seed, uint64_t stream, uint64_t counter);
/*
 * out[i] is standard normal number first + i of (seed, stream), wherever a call begins
 * and ends; |out[i]| < 6.7. The same bits on every machine (no libm).
 */
void rng_normals(float *out, uint64_t seed, uint64_t stream, uint64_t first, size_t n);

/* A random seed where the user gave none (seed 0): 32 bits from the system, short enough to type.
 * Never 0. */
uint64_t rng_fresh_seed(void);

#endif
