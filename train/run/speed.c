#include "train/run/speed.h"

#include "model/base/clock.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/progress.h"
#include "model/kernels/blas.h"
#include "model/kernels/product.h"

#include <math.h>
#include <stdbool.h>

double speed_token_flops(const struct config *c, int T, bool frozen)
{
    double attention = 0;
    for (int i = 0; i < c->n_layer; i++) {
        /* T / 2 positions on average, in a window at most its size. */
        const int window = config_window(c, i);
        const double seen = window > 0 && window < T / 2 ? window : T / 2.0;
        attention += 4.0 * config_heads_width(c) * seen;
    }
    return (frozen ? 2 : 3) * 2 * (double)config_matmul_params(c) + 3 * attention;
}

double speed_recompute_flops(const struct config *c, int n_layers)
{
    const double C = c->n_embd, A = config_heads_width(c);
    return n_layers * 2.0 * C * (3 * A + A + c->n_inner);
}

/* c [m,n] = or += op(a) [m,k] op(b) [k,n], `times` in a step. */
struct shape {
    bool transpose_a, transpose_b, adds;
    int m, n, k;
    double times;
};
enum { WAYS = 3, MATRICES = 5, TRIES = 3, MOST_RUNS = 256, LOOK_ROWS = 1024, LOOK_COLS = 4096 };
static const double SMALL_OPS = 5e7; /* of a product that is run more than once a try */
static const double LOOK_S = 0.1;    /* of tries after which a look has seen enough */

/* y [rows,N] = x W; dx = dy W^T; dW += x^T dy, with W [K,N], or [N,K] where it is turned. */
static void add_ways(struct shape *p, int rows, int K, int N, bool turned, double times)
{
    p[0] = (struct shape){false, turned, false, rows, N, K, times};
    p[1] = (struct shape){false, !turned, false, rows, K, N, times};
    p[2] = (struct shape){true, false, true, turned ? N : K, turned ? K : N, rows, times};
}

static int list_products(struct shape *p, const struct config *c, int rows, int loss_rows)
{
    const int C = c->n_embd, F = c->n_inner, A = config_heads_width(c);
    const struct {
        int K, N;
    } of_layer[] = {{C, 3 * A}, {A, C}, {C, F}, {F, C}};
    int n = 0;
    for (int i = 0; i < 4; i++, n += WAYS)
        add_ways(p + n, rows, of_layer[i].K, of_layer[i].N, false, c->n_layer);
    if (loss_rows > 0) {
        add_ways(p + n, loss_rows, C, c->n_vocab, true, (double)rows / loss_rows);
        n += WAYS;
    }
    return n;
}

struct product_run {
    enum product_engine engine;
    struct shape p;
    float *a, *b, *c;
    size_t size_a, size_b, size_c; /* floats */
    char *scratch;                 /* [n_threads] of product_scratch_bytes() */
    double most_s;                 /* after which there are no more tries */
    int runs;
    double *best_s; /* [n_threads] */
};

static void fill_random(float *x, size_t n, int thread, int n_threads)
{
    for (size_t i = (size_t)thread; i < n; i += (size_t)n_threads)
        x[i] = 0x1p-8f * (float)(i % 251 + 1);
}

static void fill_all(void *arg, int thread, int n_threads)
{
    const struct product_run *j = arg;
    fill_random(j->a, j->size_a, thread, n_threads);
    fill_random(j->b, j->size_b, thread, n_threads);
    fill_random(j->c, j->size_c, thread, n_threads);
}

static void multiply_share(const struct product_run *j, int thread, int n_threads)
{
    const struct shape *p = &j->p;
    const int lda = p->transpose_a ? p->m : p->k, ldb = p->transpose_b ? p->k : p->n;
    if (j->engine == PRODUCT_OWN)
        product_share(&(struct product){.transpose_a = p->transpose_a,
                                        .transpose_b = p->transpose_b,
                                        .add = p->adds,
                                        .m = p->m,
                                        .n = p->n,
                                        .k = p->k,
                                        .alpha = 1,
                                        .a = j->a,
                                        .lda = lda,
                                        .b = j->b,
                                        .ldb = ldb,
                                        .c = j->c,
                                        .ldc = p->n},
                      thread, n_threads, j->scratch + (size_t)thread * product_scratch_bytes());
    else
        blas_gemm_share(p->transpose_a, p->transpose_b, p->m, p->n, p->k, 1, j->a, lda, j->b, ldb,
                        p->adds, j->c, p->n, thread, n_threads);
}

/* Each thread by its own clock: to wake the team up takes longer than a small product does. */
static void time_share(void *arg, int thread, int n_threads)
{
    const struct product_run *j = arg;
    for (int i = 0; i < j->runs; i++) {
        par_barrier(); /* a thread that comes late would be helped with its last runs */
        double start = clock_s();
        multiply_share(j, thread, n_threads);
        j->best_s[thread] = fmin(j->best_s[thread], clock_s() - start);
    }
}

static size_t larger_size(size_t a, int rows, int cols)
{
    size_t b = (size_t)rows * (size_t)cols;
    return a > b ? a : b;
}

/* What the slowest thread takes when nothing disturbs it; 0: interrupted. */
static double time_product(struct product_run *j, const struct shape *p)
{
    const int n_threads = par_threads();
    const double start_s = clock_s();
    double slowest_s = 0;
    j->p = *p;
    j->runs = (int)fmin(ceil(SMALL_OPS / (2.0 * p->m * p->n * p->k)), MOST_RUNS);
    for (int i = 0; i < n_threads; i++)
        j->best_s[i] = INFINITY;
    for (int k = 0; k < TRIES && (k == 0 || clock_s() - start_s < j->most_s); k++) {
        if (interrupt_pending())
            return 0;
        par_run(time_share, j);
    }
    for (int i = 0; i < n_threads; i++)
        slowest_s = fmax(slowest_s, j->best_s[i]);
    return slowest_s;
}

static double measure_flops(struct product_run *j, const struct shape *p, int n)
{
    double ops = 0, all_s = 0;
    for (int i = 0; i < n; i++) {
        double s = time_product(j, &p[i]);
        if (s == 0)
            return 0;
        ops += p[i].times * 2.0 * p[i].m * p[i].n * p[i].k;
        all_s += p[i].times * s;
    }
    return ops / all_s;
}

static double measure_engine(enum product_engine engine, const struct config *c, int rows,
                             int loss_rows, double most_s)
{
    struct shape p[MATRICES * WAYS];
    struct product_run j = {.engine = engine, .most_s = most_s};
    const size_t scratch = (size_t)par_threads() * product_scratch_bytes();
    int n = list_products(p, c, rows, loss_rows);
    double result = 0;
    for (int i = 0; i < n; i++) {
        if (most_s < INFINITY) { /* of larger ones the speed is the same */
            p[i].n = p[i].n < LOOK_COLS ? p[i].n : LOOK_COLS;
            p[i].k = p[i].k < LOOK_COLS ? p[i].k : LOOK_COLS;
        }
        j.size_a = larger_size(j.size_a, p[i].m, p[i].k);
        j.size_b = larger_size(j.size_b, p[i].k, p[i].n);
        j.size_c = larger_size(j.size_c, p[i].m, p[i].n);
    }
    j.a = mem_map("speed measurement", j.size_a * sizeof(float));
    j.b = mem_map("speed measurement", j.size_b * sizeof(float));
    j.c = mem_map("speed measurement", j.size_c * sizeof(float));
    j.scratch = mem_map("speed measurement", scratch);
    j.best_s = mem_array((size_t)par_threads(), sizeof *j.best_s);
    if (j.a != NULL && j.b != NULL && j.c != NULL && j.scratch != NULL && j.best_s != NULL) {
        par_run(fill_all, &j);
        result = measure_flops(&j, p, n);
    }
    mem_free(j.best_s);
    mem_unmap(j.scratch, scratch);
    mem_unmap(j.a, j.size_a * sizeof(float));
    mem_unmap(j.b, j.size_b * sizeof(float));
    mem_unmap(j.c, j.size_c * sizeof(float));
    return result;
}

double speed_sgemm_flops(const struct config *c, int rows, int loss_rows)
{
    return blas_open() != 0 ? 0 : measure_engine(PRODUCT_OPENBLAS, c, rows, loss_rows, INFINITY);
}

double speed_sgemm_estimate(const struct config *c, int rows, enum product_factors factors)
{
    const enum product_factors was = product_factors();
    product_set_factors(factors);
    const enum product_engine e = product_engine();
    rows = rows < LOOK_ROWS ? rows : LOOK_ROWS;
    const bool there = e != PRODUCT_OPENBLAS || blas_open() == 0;
    const double flops = there ? measure_engine(e, c, rows, 0, LOOK_S) : 0;
    product_set_factors(was);
    return flops;
}
