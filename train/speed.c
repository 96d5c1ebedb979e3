#include "train/speed.h"

#include "model/base/clock.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/kernels/blas.h"

#include <math.h>

static const double MEASURED_S = 0.1;

double speed_token_flops(const struct config *c, int T)
{
    double attention = 2.0 * c->n_layer * c->n_embd * (double)T;
    return 3 * (2 * (double)config_matmul_params(c) + attention);
}

struct product {
    int m, n, k;
    float *a, *b, *c;
};

static void multiply(void *arg, int thread, int n_threads)
{
    const struct product *p = arg;
    blas_gemm_share(false, false, p->m, p->n, p->k, 1, p->a, p->k, p->b, p->n, 0, p->c, p->n,
                    thread, n_threads);
}

static size_t bytes(int rows, int cols)
{
    return (size_t)rows * (size_t)cols * sizeof(float);
}

double speed_sgemm_flops(const struct config *c, int rows)
{
    struct product p = {.m = rows, .n = c->n_inner, .k = c->n_embd};
    p.a = mem_map(bytes(p.m, p.k));
    p.b = mem_map(bytes(p.k, p.n));
    p.c = mem_map(bytes(p.m, p.n));
    double best_s = INFINITY, begun = clock_s();
    bool ready = p.a != NULL && p.b != NULL && p.c != NULL;
    while (ready && clock_s() - begun < MEASURED_S) {
        double start = clock_s();
        par_run(multiply, &p);
        best_s = fmin(best_s, clock_s() - start);
    }
    mem_unmap(p.a, bytes(p.m, p.k));
    mem_unmap(p.b, bytes(p.k, p.n));
    mem_unmap(p.c, bytes(p.m, p.n));
    return ready ? 2.0 * p.m * p.n * p.k / best_s : 0;
}
