/*
 * An [m,n] product is a grid of tiles, `down` rows of tiles by `across` columns. The grid has a
 * multiple of as many tiles as the machine has processors, the squarest such grid with the fewest
 * tiles: OpenBLAS packs operands anew for each tile, at a cost that grows with the sides.
 */
#include "model/kernels/blas.h"

#include "model/base/err.h"
#include "model/base/par.h"

#include <cblas.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The longest side of a tile; the most tiles that a product is divided into for the sake of all
 * processors, and the shortest side of these; sides are multiples of UNIT. */
enum { TILE = 4096, MOST = 64, LEAST = 64, UNIT = 16 };

#define CORE_VARIABLE "OPENBLAS_CORETYPE"

static pthread_once_t opening = PTHREAD_ONCE_INIT;
static struct {
    __typeof__(cblas_sgemm) *sgemm;
    __typeof__(openblas_set_num_threads) *set_num_threads;
} calls;

static void read_calls(void *library)
{
    void *sgemm = dlsym(library, "cblas_sgemm");
    void *set_num_threads = dlsym(library, "openblas_set_num_threads");
    if (sgemm == NULL || set_num_threads == NULL)
        return;
    memcpy(&calls.sgemm, &sgemm, sizeof sgemm);
    memcpy(&calls.set_num_threads, &set_num_threads, sizeof set_num_threads);
    calls.set_num_threads(1);
}

/* A processor that is newer than the library has its oldest kernels, Prescott's of 2004: the core
 * of its name that has the processor's instructions. NULL: it has chosen, or the user has. */
static const char *missed_core(void *library)
{
    void *symbol = dlsym(library, "openblas_get_corename");
    __typeof__(openblas_get_corename) *corename;
    memcpy(&corename, &symbol, sizeof symbol);
    if (symbol == NULL || getenv(CORE_VARIABLE) != NULL || strcasecmp(corename(), "Prescott") != 0)
        return NULL;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "Haswell";
#endif
    return NULL;
}

static void *load_library(void)
{
    return dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
}

/* The threads that it begins leave signals to those that wait for them. */
static void open_library(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    void *library = load_library();
    const char *core = library == NULL ? NULL : missed_core(library);
    if (core != NULL && setenv(CORE_VARIABLE, core, 0) == 0) {
        dlclose(library);
        library = load_library();
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (library != NULL)
        read_calls(library);
}

int blas_open(void)
{
    pthread_once(&opening, open_library);
    return calls.sgemm != NULL ? 0
                               : err_set(ERR_MISSING, "OpenBLAS is not installed (Debian and "
                                                      "Ubuntu: apt-get install libopenblas0)");
}

void blas_gemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a,
               int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    calls.sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, m, n, k, alpha, a, lda, b, ldb, beta, c,
                ldc);
}

static pthread_once_t counting = PTHREAD_ONCE_INIT;
static int processors;

static void count_processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_CONF);
    processors = n < 1 ? 1 : n > MOST ? MOST : (int)n;
}

struct tile_grid {
    int down, across;
};

/* The squarest grid of the smallest number of tiles that is possible; without any, tiles of TILE.
 */
static struct tile_grid choose_grid(int m, int n)
{
    pthread_once(&counting, count_processors);
    struct tile_grid least = {(m + TILE - 1) / TILE, (n + TILE - 1) / TILE};
    int all = (least.down * least.across + processors - 1) / processors * processors;
    for (; all <= MOST; all += processors) {
        struct tile_grid best = {0};
        int longest = INT_MAX;
        for (int down = least.down; down <= all / least.across; down++) {
            int rows = m / down, cols = n * down / all, side = rows > cols ? rows : cols;
            if (all % down == 0 && rows >= LEAST && cols >= LEAST && side < longest) {
                longest = side;
                best = (struct tile_grid){down, all / down};
            }
        }
        if (best.down > 0)
            return best;
    }
    return least;
}

int blas_tiles(int m, int n)
{
    struct tile_grid c = choose_grid(m, n);
    return c.down * c.across;
}

/* Span i of n elements divided into `parts` spans of whole units. */
static void cut_span(int n, int i, int parts, int *first, int *count)
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
    struct tile_grid c = choose_grid(m, n);
    cut_span(m, i % c.down, c.down, &t.row, &t.rows);
    cut_span(n, i / c.down, c.across, &t.col, &t.cols);
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
