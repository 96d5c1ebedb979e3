#ifndef PRATTLE_MODEL_KERNELS_MATRIX_KERNELS_H
#define PRATTLE_MODEL_KERNELS_MATRIX_KERNELS_H
/*
 * Products with matrices in panels, a tile at a time. The rules of all tables (kernels.h) hold.
 */
#include "model/kernels/activation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What happens to a sum and its bias on the way to y: nothing, y +=, or an activation. */
#define EPILOGUE_WORD(WORD, name, ...) EPILOGUE_##WORD,
enum epilogue { EPILOGUE_STORE, EPILOGUE_ADD, EACH_ACTIVATION(EPILOGUE_WORD) };
#undef EPILOGUE_WORD

static inline enum epilogue epilogue_activation(enum activation a)
{
    return (enum epilogue)(EPILOGUE_ADD + 1 + (int)a);
}

enum { TILE_MAX_ROWS = 16 };

/*
 * Memory to fetch into the second-level cache in the meantime: K `step` bytes from `at`
 * on, step even and at most 128. Step 0: none, `at` any address.
 */
struct prefetch {
    const void *at;
    size_t step;
};

struct matrix_kernels {
    int tile_rows; /* rows of the largest tile, at most TILE_MAX_ROWS */
    int tile_cols; /* its columns, 16 or 32 */
    int wide_rows; /* up to so many rows a tile of 64 columns is better */

    /*
     * acc [R,cols] += x W: for k ascending acc[r][n] = fma(x[k][r], W[k][n], acc[r][n]),
     * from 0 when `fresh`. x is [K,ldx], packed where ldx is R; W is [K,ldw] binary16 or fp32. R
     * 1..tile_rows; cols a multiple of 16, best tile_cols, or 64 when R <= wide_rows.
     * wide, if not NULL, receives W as fp32 [K,cols] on the way, cols <= tile_cols.
     */
    void (*tile_f16)(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                     const uint16_t *w, size_t ldw, int K, int cols, float *wide,
                     struct prefetch prefetch);
    void (*tile_f32)(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                     const float *w, size_t ldw, int K, int cols, float *wide,
                     struct prefetch prefetch);
    /* The same for one row and `panels` whole panels [K,64], one behind the other: acc
     * [panels,64] from 0. */
    void (*row_f16)(float *acc, const float *x, const uint16_t *w, int K, int panels);
    void (*row_f32)(float *acc, const float *x, const float *w, int K, int panels);
    /* packed [K,R] = x [R,K] transposed, R 1..tile_rows. */
    void (*pack_rows)(float *packed, const float *x, size_t ldx, int R, int K);
    /* y[r][i] = f(acc[r][i] + bias[i]) or y[r][i] += acc[r][i] + bias[i], i < n; bias NULL: none.
     */
    void (*epilogue)(float *y, size_t ldy, const float *acc, size_t ldacc, const float *bias,
                     int rows, size_t n, enum epilogue f);
};
/* The table in use: that of the best instruction set until kernels_select (kernels.h). */
const struct matrix_kernels *matrix_kernels(void);

#endif
