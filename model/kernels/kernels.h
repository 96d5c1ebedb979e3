#ifndef PRATTLE_MODEL_KERNELS_KERNELS_H
#define PRATTLE_MODEL_KERNELS_KERNELS_H
/*
 * The choice among the instruction sets: portable C, AVX2+FMA+F16C, AVX-512. The arithmetic is
 * in tables of functions by use: matrix_kernels.h, row_kernels.h, attention_kernels.h,
 * sampling_kernels.h, training_kernels.h, optimizer_kernels.h, peak_kernels.h. Every set gives
 * the same bits for the same arguments (NaN payloads excepted):
 *
 * - every fused multiply-add is one, in the order the formula gives;
 * - a sum or maximum over x[0..n-1] runs in 16 virtual lanes, lane l taking x[l],
 *   x[l+16], ... in order; then lanes fold 16 -> 8 -> 4 -> 2 -> 1, lane l with lane
 *   l + half;
 * - max(a, b) is a > b ? a : b, as the instruction has it;
 * - exp, erf and tanh are our own polynomials, within 2 ulp of the true value; GELU and SiLU
 *   are within 2 ulp of |x|.
 *
 * Pointers need no alignment unless said. n may be 0.
 */

struct kernels;

/* Choose by name. NULL or "auto": the set that PRATTLE_KERNELS in the environment names, the best
 * where it is not set. ERR_RANGE lists those of this machine. */
int kernels_select(const char *name);
/* The name of the set in use: that of "auto" until kernels_select. */
const char *kernels_name(void);
/* The names this machine has, best last: "portable, avx2, avx512". */
const char *kernels_names(void);
/* The i-th of them, NULL past the last. */
const char *kernels_nth_name(int i);
/* All tables (kernels_tables.h) of the set in use, and of set i of this machine, portable first,
 * NULL past the last: for tests. */
const struct kernels *kernels_active(void);
const struct kernels *kernels_nth(int i);

#endif
