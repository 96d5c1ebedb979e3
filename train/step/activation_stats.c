#include "train/step/activation_stats.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"

#include <math.h>
#include <string.h>

const char *const watched_names[N_WATCHED] = {"attention", "mlp", "residual"};

int watch_init(struct watch *w, const struct config *c, int max_rows)
{
    *w = (struct watch){.n_layer = c->n_layer};
    w->total = mem_array((size_t)c->n_layer * N_WATCHED, sizeof *w->total);
    w->rows = mem_array((size_t)max_rows, sizeof *w->rows);
    if (w->total != NULL && w->rows != NULL)
        return 0;
    watch_release(w);
    return ERR_NOMEM;
}

void watch_release(struct watch *w)
{
    mem_free(w->total);
    mem_free(w->rows);
    *w = (struct watch){0};
}

void watch_reset(struct watch *w)
{
    memset(w->total, 0, (size_t)w->n_layer * N_WATCHED * sizeof *w->total);
}

static void add(struct watch_sums *to, const struct watch_sums *one)
{
    to->sum += one->sum;
    to->squares += one->squares;
    to->max = isnan(one->max) || one->max > to->max ? one->max : to->max;
    to->n += one->n;
    to->zeros += one->zeros;
}

static struct watch_sums sums_of(const float *x, int n)
{
    struct watch_sums s = {.n = (uint64_t)n};
    for (int i = 0; i < n; i++) {
        double v = (double)x[i];
        s.sum += v;
        s.squares += v * v;
        s.max = isnan(v) || fabs(v) > s.max ? fabs(v) : s.max;
        s.zeros += v == 0;
    }
    return s;
}

void watch_add(struct watch *w, const struct forward *f, int layer, int n, int thread,
               int n_threads)
{
    const struct config *c = &f->params->config;
    const struct {
        const float *x;
        int width;
    } places[N_WATCHED] = {[WATCHED_ATTENTION] = {f->layers[layer].att, c->n_embd},
                           [WATCHED_MLP] = {f->fc, c->n_inner},
                           [WATCHED_RESIDUAL] = {f->layers[layer + 1].x, c->n_embd}};
    int first, last;
    par_split(n, thread, n_threads, &first, &last);
    for (int k = 0; k < N_WATCHED; k++) {
        for (int i = first; i < last; i++)
            w->rows[i] =
                sums_of(places[k].x + (size_t)i * (size_t)places[k].width, places[k].width);
        par_barrier();
        for (int i = 0; thread == 0 && i < n; i++)
            add(&w->total[layer * N_WATCHED + k], &w->rows[i]);
        par_barrier();
    }
}

struct watched_stats watch_stats(const struct watch *w, int layer, enum watched what)
{
    const struct watch_sums *s = &w->total[layer * N_WATCHED + (int)what];
    double n = s->n > 0 ? (double)s->n : 1, mean = s->sum / n;
    double variance = s->squares / n - mean * mean;
    return (struct watched_stats){.mean = mean,
                                  .std = variance < 0 ? 0 : sqrt(variance),
                                  .max = s->max,
                                  .zeros = (double)s->zeros / n};
}
