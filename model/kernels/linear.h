#ifndef PRATTLE_MODEL_KERNELS_LINEAR_H
#define PRATTLE_MODEL_KERNELS_LINEAR_H
/*
 * Linear layers: y [T,N] = x [T,K] W [K,N] + b [N].
 *
 * Inference stores W in panels of 64 columns, so that a product reads memory in one stream. Panel p
 * holds columns 64 p .. 64 p + 63, row by row; columns from N on are zero:
 *
 *            n = 0 .. 63     64 .. 127         ...
 *          +------------+ +------------+ +------------+
 *   k = 0  | 0 1 ... 63 | | 64K ...    | |            |   numbers: the elements' order in memory,
 *       1  | 64 ...     | |            | |       zero |   [ceil(N / 64)][K][64]
 *     ...  |            | |            | |            |
 *   K - 1  | ... 64K-1  | |            | |            |
 *          +------------+ +------------+ +------------+
 *
 * In Q8_0 (q8.h) a panel is a struct q8_panel for each 32 rows k, [ceil(N / 64)][K / 32]; K is then
 * a multiple of 32.
 *
 * Every element of y is computed as
 *
 *   acc = 0; for k = 0 .. K - 1: acc = fma(x[k], W[k][n], acc); y = acc + b
 *
 * in this order for any T, on every instruction set and by any number of threads: the same bits
 * everywhere; in Q8_0 those of the same numbers in fp32.
 *
 * Training stores W in fp32 as files do (LINEAR_ROWS, LINEAR_COLUMNS) and multiplies as product.h
 * says: the same chain of sums.
 */
#include "model/base/dtype.h"
#include "model/kernels/matrix_kernels.h"

#include <stddef.h>
#include <stdint.h>

enum { PANEL = 64 };

enum linear_layout {
    LINEAR_PANELS, /* [ceil(N/64)][K][64], fp32, binary16 or Q8_0 */
    LINEAR_ROWS,   /* float [K,N] row-major: a Conv1D as in Hugging Face files */
    LINEAR_COLUMNS /* float [N,K] row-major: the embedding [V,C] as output head */
};

struct low_rank;
struct linear {
    enum dtype dtype; /* DTYPE_F32, or in panels DTYPE_F16 or DTYPE_Q8 */
    enum linear_layout layout;
    int K, N;
    void *data;        /* float, uint16_t (binary16) or struct q8_panel; panels aligned to 64 bytes;
                          borrowed */
    const float *bias; /* [N] or NULL; borrowed */
    const struct low_rank *lora; /* the matrix's LoRA branch (model/low_rank.h), which linear_rows
                                    does not apply; NULL: none; borrowed */
};

/* How many panels N columns take, and the bytes of a matrix in panels. */
static inline int linear_panels(int N)
{
    return (N + PANEL - 1) / PANEL;
}
size_t linear_bytes(enum dtype dtype, int K, int N);
/* The type of a matrix of K rows in a model of type dtype: binary16 in the place of Q8_0 where K is
 * no multiple of 32. */
enum dtype linear_dtype(enum dtype dtype, int K);

/* Bytes of scratch one thread needs in linear_rows for K up to max_k. */
size_t linear_scratch_bytes(int max_k);

/*
 * Compute this thread's share, some columns and rows, of y [T,N] = x [T,K] W + b with the given
 * epilogue. Every thread of the job calls this with the same arguments except `thread` and
 * `scratch`. No barrier: the caller waits before it reads what other threads compute.
 *
 * ldx, ldy   floats from row to row
 * scratch    this thread's own, linear_scratch_bytes(K), aligned to 64 bytes
 */
void linear_rows(const struct linear *w, float *y, size_t ldy, const float *x, size_t ldx, int T,
                 enum epilogue epilogue, int thread, int n_threads, void *scratch);

/* out [K] = column n of W in fp32: for an embedding, the row of token n. */
void linear_column(const struct linear *w, int n, float *out);
/* W[k][n] in fp32, from panels. */
float linear_element(const struct linear *w, int k, int n);
/* out [n_blocks] = blocks first .. first + n_blocks - 1 of column n, from panels in Q8_0. */
void linear_read_q8(const struct linear *w, int n, int first, int n_blocks, struct q8_block *out);

/*
 * Fill panels from rows of a file, in fp32 or binary16; fp32 rounds to nearest even where the
 * panels are binary16, and is quantized where they are Q8_0 (q8_quantize). Threads may fill
 * different rows at the same time.
 *
 * in_major    src [count,N] has rows k0 .. k0 + count - 1 of W (Conv1D); for Q8_0 whole blocks
 * out_major   src [count,K] has columns n0 .. n0 + count - 1 of W (nn.Linear, GGUF)
 */
void linear_fill_in_major(struct linear *w, const void *src, enum dtype src_dtype, int k0,
                          int count);
void linear_fill_out_major(struct linear *w, const void *src, enum dtype src_dtype, int n0,
                           int count);
/* The same as out_major for Q8_0 blocks of a file, which stay as they are: src [count,K/32]. */
void linear_fill_q8(struct linear *w, const struct q8_block *src, int n0, int count);
/* Columns col .. col + n - 1, all in one panel, of rows k0 .. k0 + count - 1, for Q8_0 whole
 * blocks; src [count,64]. */
void linear_fill_part(struct linear *w, const float (*src)[PANEL], int k0, int count, int col,
                      int n);

#endif
