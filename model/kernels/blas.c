#include "model/kernels/blas.h"

#include "model/base/par.h"

#include <cblas.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void alone(void)
{
    openblas_set_num_threads(1);
}

void blas_gemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a,
               int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    pthread_once(&once, alone);
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, m, n, k, alpha, a, lda, b, ldb, beta, c,
                ldc);
}

enum { TILE_ROWS = 256, TILE_COLS = 512, UNIT = 16 };

static int tiles_down(int m)
{
    return (m + TILE_ROWS - 1) / TILE_ROWS;
}

static int tiles_across(int n)
{
    int tiles = (n + TILE_COLS - 1) / TILE_COLS;
    return n <= 2 * UNIT ? 1 : (tiles + 1) / 2 * 2;
}

int blas_tiles(int m, int n)
{
    return tiles_down(m) * tiles_across(n);
}

/* Part i of n things cut into as many runs of whole units. */
static void cut(int n, int i, int parts, int *first, int *count)
{
    int last;
    par_split((n + UNIT - 1) / UNIT, i, parts, first, &last);
    *first *= UNIT;
    last = last * UNIT < n ? last * UNIT : n;
    *count = last - *first;
}

struct blas_tile blas_tile(int m, int n, int i)
{
    struct blas_tile t;
    int down = tiles_down(m);
    cut(m, i % down, down, &t.row, &t.rows);
    cut(n, i / down, tiles_across(n), &t.col, &t.cols);
    return t;
}

void blas_gemm_share(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha,
                     const float *a, int lda, const float *b, int ldb, float beta, float *c,
                     int ldc, int thread, int n_threads)
{
    int first, last;
    par_split(blas_tiles(m, n), thread, n_threads, &first, &last);
    for (int i = first; i < last; i++) {
        struct blas_tile t = blas_tile(m, n, i);
        size_t row = (size_t)t.row, col = (size_t)t.col;
        blas_gemm(transpose_a, transpose_b, t.rows, t.cols, k, alpha,
                  a + (transpose_a ? row : row * (size_t)lda), lda,
                  b + (transpose_b ? col * (size_t)ldb : col), ldb, beta,
                  c + row * (size_t)ldc + col, ldc);
    }
}
