#ifndef PRATTLE_MODEL_KERNELS_LINEAR_H
#define PRATTLE_MODEL_KERNELS_LINEAR_H
/*
 * y = x W + b. Inference keeps W in panels: [ceil(N/64)][K][64], panel p holding columns
 * 64 p .. 64 p + 63, the columns past N zero. Every element of y is
 *
 *   acc = 0; for k in 0..K-1: acc = fma(x[k], W[k][n], acc); y = acc + b
 *
 * in this order at every number of rows, on every instruction set, in every thread:
 * the same bits everywhere.
 *
 * Training keeps W in fp32 as files have it (LINEAR_ROWS, LINEAR_COLUMNS), and multiplies by
 * OpenBLAS on tiles of y that depend on T and N alone: the same bits in any team.
 */
#include "model/base/dtype.h"
#include "model/kernels/matrix_kernels.h"

#include <stddef.h>
#include <stdint.h>

enum { PANEL = 64 };

enum linear_layout {
    LINEAR_PANELS, /* [ceil(N/64)][K][64], fp32 or binary16 */
    LINEAR_ROWS,   /* float [K,N] row-major: a Conv1D as HF files have it */
    LINEAR_COLUMNS /* float [N,K] row-major: an embedding [V,C] as the head sees it */
};

struct low_rank;
struct linear {
    enum dtype dtype; /* DTYPE_F32, or in panels DTYPE_F16 */
    enum linear_layout layout;
    int K, N;
    void *data;                  /* uint16_t (binary16) or float; panels aligned to 64; borrowed */
    const float *bias;           /* [N] or NULL; borrowed */
    const struct low_rank *lora; /* its LoRA branch (model/low_rank.h), which is no business of
                                    linear_rows; NULL: none; borrowed */
};

static inline int linear_panels(int N)
{
    return (N + PANEL - 1) / PANEL;
}
/* Of the panels. */
size_t linear_bytes(enum dtype dtype, int K, int N);

/* Bytes of scratch one thread needs in linear_rows for K up to max_k. */
size_t linear_scratch_bytes(int max_k);

/*
 * This thread's share (a run of columns, or of tiles) of y [T,N] = x [T,K] W + b. All threads of
 * the team call it with the same arguments but `thread` and `scratch`; the caller
 * puts a par_barrier before the result is read across columns.
 *
 * ldx, ldy   floats from one row to the next
 * scratch    linear_scratch_bytes, this thread's own, aligned to 64
 */
void linear_rows(const struct linear *w, float *y, size_t ldy, const float *x, size_t ldx, int T,
                 enum epilogue epilogue, int thread, int n_threads, void *scratch);

/* Copy column n of W [K] out as fp32: row n of an embedding kept in panels. */
void linear_column(const struct linear *w, int n, float *out);

/*
 * Fill panels from rows of a file. in_major: src is [count, N], rows k0..k0+count-1
 * of W [K,N] (Conv1D). out_major: src is [count, K], columns n0.. of W (nn.Linear,
 * GGUF). src is fp32 or binary16 as `src_dtype` says; narrowing rounds to nearest
 * even. Different calls may run in different threads when their rows differ.
 */
void linear_fill_in_major(struct linear *w, const void *src, enum dtype src_dtype, int k0,
                          int count);
void linear_fill_out_major(struct linear *w, const void *src, enum dtype src_dtype, int n0,
                           int count);
/* n columns from col on of row k of W, all in one panel, from fp32. */
void linear_fill_part(struct linear *w, const float *src, int k, int col, int n);

#endif
