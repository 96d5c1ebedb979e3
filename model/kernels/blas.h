#ifndef PRATTLE_MODEL_KERNELS_BLAS_H
#define PRATTLE_MODEL_KERNELS_BLAS_H
/* OpenBLAS on the calling thread alone; the team splits the work before it. */
#include <stdbool.h>
#include <stddef.h>

/* c [m,n] = alpha op(a) [m,k] op(b) [k,n] + beta c, row-major; ld floats a row. */
void blas_gemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a,
               int lda, const float *b, int ldb, float beta, float *c, int ldc);

/*
 * The tiles that the rows and columns of a product are cut into, as even as can be: by the
 * product and the machine's processors, whatever the team, so that bits do not depend on it.
 */
struct blas_tile {
    int row, rows, col, cols;
};
int blas_tiles(int m, int n); /* how many */
struct blas_tile blas_tile(int m, int n, int i);
/* This thread's share of the tiles of the product; others take theirs with the same
 * arguments. */
void blas_gemm_share(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha,
                     const float *a, int lda, const float *b, int ldb, float beta, float *c,
                     int ldc, int thread, int n_threads);

#endif
