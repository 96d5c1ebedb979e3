#ifndef PRATTLE_MODEL_KERNELS_BLAS_H
#define PRATTLE_MODEL_KERNELS_BLAS_H
/*
 * fp32 matrix products by OpenBLAS, which runs on the calling thread alone: the thread team divides
 * a product into tiles and calls OpenBLAS for each.
 *
 * The library is opened when it is wanted: as soon as it is loaded it begins a thread for each
 * processor, which spins, and most sessions multiply with the program's own kernels alone. On a
 * processor that it does not know yet, OPENBLAS_CORETYPE is set for it, and for child processes,
 * unless the user has.
 */
#include <stdbool.h>
#include <stddef.h>

/* Open it, for good; any thread may, and one must before the first product. ERR_MISSING: what to
 * install. */
int blas_open(void);

/* C [m,n] = alpha op(A) [m,k] op(B) [k,n] + beta C, all row-major; op transposes or not; lda, ldb
 * and ldc are floats from row to row as stored. */
void blas_gemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a,
               int lda, const float *b, int ldb, float beta, float *c, int ldc);

/*
 * The tiles of an [m,n] product: rows row .. row + rows - 1, columns col .. col + cols - 1. They
 * depend on m, n and the machine's number of processors, not on the team, so that the bits of a
 * product are the same for teams of any size.
 */
struct blas_tile {
    int row, rows, col, cols;
};
/* How many tiles, and tile i. */
int blas_tiles(int m, int n);
struct blas_tile blas_tile(int m, int n, int i);
/* blas_gemm for this thread's share of the tiles. Every thread of the job calls it with the same
 * arguments; no barrier. */
void blas_gemm_share(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha,
                     const float *a, int lda, const float *b, int ldb, float beta, float *c,
                     int ldc, int thread, int n_threads);

#endif
