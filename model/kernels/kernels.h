#ifndef PRATTLE_MODEL_KERNELS_KERNELS_H
#define PRATTLE_MODEL_KERNELS_KERNELS_H
/*
 * Selection of the instruction set: portable C, AVX2 (with FMA and F16C), AVX-512, or AVX-512 with
 * the matrix registers of AMX. A set is a group of tables of functions, one table for each use:
 * matrix_kernels.h, bf16_kernels.h, row_kernels.h, attention_kernels.h, sampling_kernels.h,
 * training_kernels.h, optimizer_kernels.h and peak_kernels.h. All sets give the same bits for the
 * same arguments, except for NaN payloads:
 *
 * - where a formula says fma, every set rounds once, and operations run in the formula's order;
 * - a sum or maximum over x[0..n-1] runs in 16 virtual lanes, lane l taking x[l], x[l + 16], ...
 *   in order; the lanes are then folded 16 -> 8 -> 4 -> 2 -> 1, lane l with lane l + half;
 * - max(a, b) is a > b ? a : b, as maxps computes it;
 * - exp, erf and tanh are polynomials of this program's own, within 2 ulp of the true value; GELU
 *   and SiLU are within 2 ulp of |x|.
 *
 * Unless stated otherwise, pointers need no alignment and n may be 0.
 */

struct kernels;

/* Use the set of this name; NULL or "auto": the set that PRATTLE_KERNELS in the environment names,
 * the best one where it is not set. ERR_RANGE lists this machine's sets. */
int kernels_select(const char *name);
/* The name of the set in use; before kernels_select that of "auto". */
const char *kernels_name(void);
/* The names of this machine's sets, best last: "portable, avx2, avx512, amx". */
const char *kernels_names(void);
/* The name of set i, 0 being portable; NULL past the last. */
const char *kernels_nth_name(int i);
/* All tables (kernels_tables.h) of the set in use, and of set i; NULL past the last. For tests. */
const struct kernels *kernels_active(void);
const struct kernels *kernels_nth(int i);

#endif
