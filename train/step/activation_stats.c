/*
 * Threads sum whole rows, and after a barrier thread 0 adds the rows' sums in order, so the team's
 * size does not change the result.
 */
#include "train/step/activation_stats.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"

#include <math.h>
#include <string.h>

const char *const activation_site_names[N_ACTIVATION_SITES] = {"attention", "mlp", "residual"};

int activation_stats_init(struct activation_stats *stats, const struct config *c, int max_rows)
{
    *stats = (struct activation_stats){.n_layer = c->n_layer};
    stats->total = mem_array((size_t)c->n_layer * N_ACTIVATION_SITES, sizeof *stats->total);
    stats->rows = mem_array((size_t)max_rows, sizeof *stats->rows);
    if (stats->total != NULL && stats->rows != NULL)
        return 0;
    activation_stats_release(stats);
    return ERR_NOMEM;
}

void activation_stats_release(struct activation_stats *stats)
{
    mem_free(stats->total);
    mem_free(stats->rows);
    *stats = (struct activation_stats){0};
}

void activation_stats_reset(struct activation_stats *stats)
{
    memset(stats->total, 0, (size_t)stats->n_layer * N_ACTIVATION_SITES * sizeof *stats->total);
}

static void add_sums(struct activation_sums *to, const struct activation_sums *one)
{
    to->sum += one->sum;
    to->squares += one->squares;
    to->max = isnan(one->max) || one->max > to->max ? one->max : to->max;
    to->n += one->n;
    to->zeros += one->zeros;
}

static struct activation_sums sum_row(const float *x, int n)
{
    struct activation_sums s = {.n = (uint64_t)n};
    for (int i = 0; i < n; i++) {
        double v = (double)x[i];
        s.sum += v;
        s.squares += v * v;
        s.max = isnan(v) || fabs(v) > s.max ? fabs(v) : s.max;
        s.zeros += v == 0;
    }
    return s;
}

void activation_stats_add(struct activation_stats *stats, const struct forward *f, int layer, int n,
                          int thread, int n_threads)
{
    const struct config *c = &f->params->config;
    const struct {
        const float *x;
        int width;
    } sites[N_ACTIVATION_SITES] = {
        [ACTIVATION_ATTENTION] = {f->layers[layer].att, config_heads_width(c)},
        [ACTIVATION_MLP] = {f->fc, c->n_inner},
        [ACTIVATION_RESIDUAL] = {f->layers[layer + 1].x, c->n_embd}};
    int first, last;
    par_split(n, thread, n_threads, &first, &last);
    for (int k = 0; k < N_ACTIVATION_SITES; k++) {
        for (int i = first; i < last; i++)
            stats->rows[i] =
                sum_row(sites[k].x + (size_t)i * (size_t)sites[k].width, sites[k].width);
        par_barrier();
        for (int i = 0; thread == 0 && i < n; i++)
            add_sums(&stats->total[layer * N_ACTIVATION_SITES + k], &stats->rows[i]);
        par_barrier();
    }
}

void activation_stats_join(struct activation_stats *stats, int layer,
                           const struct activation_sums *others)
{
    for (int k = 0; k < N_ACTIVATION_SITES; k++)
        add_sums(&stats->total[layer * N_ACTIVATION_SITES + k], &others[k]);
}

struct activation_summary activation_stats_of(const struct activation_stats *stats, int layer,
                                              enum activation_site what)
{
    const struct activation_sums *s = &stats->total[layer * N_ACTIVATION_SITES + (int)what];
    double n = s->n > 0 ? (double)s->n : 1, mean = s->sum / n;
    double variance = s->squares / n - mean * mean;
    return (struct activation_summary){.mean = mean,
                                       .std = variance < 0 ? 0 : sqrt(variance),
                                       .max = s->max,
                                       .zeros = (double)s->zeros / n};
}
