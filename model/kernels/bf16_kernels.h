#ifndef PRATTLE_MODEL_KERNELS_BF16_KERNELS_H
#define PRATTLE_MODEL_KERNELS_BF16_KERNELS_H
/*
 * Products C += A B whose factors are rounded to bfloat16 and whose sums are fp32, in the order of
 * the tile instructions of Intel's AMX (TDPBF16PS, Intel 64 and IA-32 Architectures Software
 * Developer's Manual, volume 2), which the other instruction sets compute with fused multiply-adds:
 *
 *   for each group of 32 of k, the last one filled up with zeros:
 *     even = odd = 0
 *     for i = 0 .. 15: even = fma(A[2 i], B[2 i], even); odd = fma(A[2 i + 1], B[2 i + 1], odd)
 *     acc = acc + (even + odd)
 *
 * Rounding is to nearest even. Subnormal factors count as 0. So do subnormal sums and results on
 * x86; elsewhere these stay, which is the one difference between processors.
 */
#include <stdbool.h>
#include <stddef.h>

enum { BF16_GROUP = 32, BF16_MAX_ROWS = 32 };

struct bf16_kernels {
    int tile_rows;  /* rows of a row tile, at most BF16_MAX_ROWS */
    int tile_cols;  /* columns of a strip */
    size_t element; /* bytes of a packed element, 2 or 4 */

    /* Each set's own form of alpha A, a row tile of R rows and K columns, K filled up to whole
     * groups; A is [R,K], or [K,R] if transposed, lda floats from row to row. packed has room for
     * tile_rows rows. */
    void (*pack_a)(void *packed, const float *a, size_t lda, bool transposed, float alpha, int R,
                   int K);
    /* The same of B, [K,cols], or [cols,K] if transposed, in strips one after another, each with
     * room for tile_cols columns. */
    void (*pack_b)(void *strips, const float *b, size_t ldb, bool transposed, int cols, int K);
    /* acc [R,cols], ldacc floats from row to row, goes on, or begins at 0 if `fresh`. */
    void (*multiply)(float *acc, size_t ldacc, bool fresh, const void *packed, int R,
                     const void *strips, int cols, int K);
};
/* The table in use (kernels.h). */
const struct bf16_kernels *bf16_kernels(void);

/* K filled up to whole groups. */
static inline int bf16_filled(int K)
{
    return (K + BF16_GROUP - 1) / BF16_GROUP * BF16_GROUP;
}

#endif
