#ifndef PRATTLE_BLAS_H
#define PRATTLE_BLAS_H
/* OpenBLAS on the calling thread alone; the team splits the work before it. */
#include <stdbool.h>

/* c [m,n] = alpha op(a) [m,k] op(b) [k,n] + beta c, row-major; ld floats a row. */
void blas_gemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a,
               int lda, const float *b, int ldb, float beta, float *c, int ldc);

#endif
