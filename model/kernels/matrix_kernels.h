#ifndef PRATTLE_MODEL_KERNELS_MATRIX_KERNELS_H
#define PRATTLE_MODEL_KERNELS_MATRIX_KERNELS_H
/*
 * Matrix products, one register tile at a time, and the epilogue that finishes them. linear.h has
 * the panel layout.
 */
#include "model/kernels/activation.h"
#include "model/kernels/prefetch.h"
#include "model/kernels/q8_block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What becomes of s, a product plus its bias: y = s, y += s, or y = activation(s). */
#define EPILOGUE_WORD(WORD, name, ...) EPILOGUE_##WORD,
enum epilogue { EPILOGUE_STORE, EPILOGUE_ADD, EACH_ACTIVATION(EPILOGUE_WORD) };
#undef EPILOGUE_WORD

static inline enum epilogue epilogue_activation(enum activation a)
{
    return (enum epilogue)(EPILOGUE_ADD + 1 + (int)a);
}

enum { TILE_MAX_ROWS = 16 };
/* The most that a strip [part,tile_cols] of W has, and a block [part,block_cols] of such strips. */
enum { STRIP_FLOATS = 12288, BLOCK_FLOATS = 98304 };

struct matrix_kernels {
    int tile_rows;   /* rows of the largest tile, at most TILE_MAX_ROWS */
    int tile_cols;   /* its columns, 16 or 32 */
    int part;        /* rows of W that several tiles go down at once, a multiple of 32 */
    int block_cols;  /* columns of B that product.c packs at once, a multiple of tile_cols */
    int wide_rows;   /* with at most so many rows, tiles of 64 columns are faster */
    int few_rows;    /* up to so many rows, a product with weights in memory waits for these */
    int widen_tiles; /* with fewer row tiles than this, each converts binary16 itself; of more, the
                        first widens it to fp32 for the others */
    bool hardware_prefetch; /* the processor itself fetches a long run of memory as fast as with
                               prefetches, or faster, unless it is in Q8_0: of prefetches only so
                               many are under way at once */

    /*
     * One tile of a product: for k ascending, acc[r][n] = fma(x[k][r], W[k][n], acc[r][n]).
     *
     * acc     [R,cols], ldacc floats from row to row; starts at 0 if `fresh`
     * x       [K,R], ldx floats from row to row: the rows of X, transposed (pack_rows)
     * w       [K,cols] in binary16 or fp32, ldw elements from row to row
     * R       1 .. tile_rows
     * cols    a multiple of 16; fastest are tile_cols, and 64 where R <= wide_rows
     * wide    [K,cols], receives W in fp32 (cols <= tile_cols); NULL: nothing
     */
    void (*tile_f16)(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                     const uint16_t *w, size_t ldw, int K, int cols, float *wide,
                     struct prefetch prefetch);
    void (*tile_f32)(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                     const float *w, size_t ldw, int K, int cols, float *wide,
                     struct prefetch prefetch);
    /* The same with w[k][n] = d q, columns col .. col + cols - 1 of panel blocks w [K/32]; K is a
     * multiple of 32. */
    void (*tile_q8)(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                    const struct q8_panel *w, int col, int K, int cols, float *wide,
                    struct prefetch prefetch);
    /* The same with W in integers of 8 bits. */
    void (*tile_i8)(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                    const int8_t *w, size_t ldw, int K, int cols, float *wide,
                    struct prefetch prefetch);
    /* One row of x [K] times `panels` whole panels [K,64], stored one after another, in the same
     * order of operations: acc [panels,64], starting at 0. */
    void (*row_f16)(float *acc, const float *x, const uint16_t *w, int K, int panels);
    void (*row_f32)(float *acc, const float *x, const float *w, int K, int panels);
    void (*row_q8)(float *acc, const float *x, const struct q8_panel *w, int K, int panels);
    /* packed [K,R] = the transpose of x [R,K], ldx floats from row to row; R 1 .. tile_rows. */
    void (*pack_rows)(float *packed, const float *x, size_t ldx, int R, int K);
    /* The transpose of w [cols,K], ldw floats from row to row, to strip [K,cols], ld floats from
     * row to row. */
    void (*pack_columns)(float *strip, size_t ld, const float *w, size_t ldw, int cols, int K);
    /* y [rows,n] = f(acc [rows,n] + bias [n]), or y += acc + bias for EPILOGUE_ADD; ldy and ldacc
     * floats from row to row, bias NULL: none. */
    void (*epilogue)(float *y, size_t ldy, const float *acc, size_t ldacc, const float *bias,
                     int rows, size_t n, enum epilogue f);
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct matrix_kernels *matrix_kernels(void);

#endif
