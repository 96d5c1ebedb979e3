#include "train/eval/divergence.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/kernels/log_sum_exp.h"
#include "model/kernels/sampling_kernels.h"

#include <math.h>
#include <stdlib.h>

/* Below it the series is nearer to e^d - 1 - d than a difference of floats would be. */
static const double SMALL = 0.25;

/*
 * With d = ln p - ln q, sum q (e^d - 1 - d) is sum q ln(q / p), as the q and the p both add up
 * to 1. No term is negative and an error in the two log-sum-exps comes in squared, so that
 * distributions that hardly differ (fp16 against fp32) lose nothing.
 */
void divergence_row(struct divergence_row *out, const float *logits, const float *other,
                    float *scratch, size_t V, token_id target)
{
    const struct sampling_kernels *k = sampling_kernels();
    float *restrict p = scratch, *restrict q = scratch + V;
    double p_sum, q_sum;
    double p_log = log_sum_exp_terms(p, &p_sum, logits, V);
    double q_log = log_sum_exp_terms(q, &q_sum, other, V);
    double p_scale = 1 / p_sum, q_scale = 1 / q_sum;
    double shift = p_log - q_log, kl = 0;
    for (size_t i = 0; i < V; i++) {
        double d = (double)logits[i] - (double)other[i] - shift;
        double near =
            d * d *
            (0.5 + d * (1. / 6 + d * (1. / 24 + d * (1. / 120 + d * (1. / 720 + d / 5040)))));
        double qi = (double)q[i] * q_scale, far = (double)p[i] * p_scale - qi - qi * d;
        kl += fabs(d) < SMALL ? qi * near : far;
    }
    *out = (struct divergence_row){.kl = kl,
                                   .loss = p_log - (double)logits[target],
                                   .other_loss = q_log - (double)other[target],
                                   .same_top = k->argmax(logits, V) == k->argmax(other, V)};
}

int divergence_add(struct divergence *d, const struct divergence_row *rows, size_t n)
{
    if (d->n + n > d->cap) {
        size_t cap = 2 * d->cap > d->n + n ? 2 * d->cap : d->n + n + 1024;
        double *grown = mem_grow(d->kl, d->cap * sizeof *grown, cap * sizeof *grown);
        if (grown == NULL)
            return ERR_NOMEM;
        d->kl = grown;
        d->cap = cap;
    }
    for (size_t i = 0; i < n; i++) {
        double change = rows[i].loss - rows[i].other_loss;
        d->kl[d->n++] = rows[i].kl;
        d->kl_sum += rows[i].kl;
        d->kl_squared += rows[i].kl * rows[i].kl;
        d->loss += rows[i].loss;
        d->loss_squared += rows[i].loss * rows[i].loss;
        d->other_loss += rows[i].other_loss;
        d->other_squared += rows[i].other_loss * rows[i].other_loss;
        d->change += change;
        d->change_squared += change * change;
        d->same_top += rows[i].same_top;
    }
    return 0;
}

void divergence_release(struct divergence *d)
{
    mem_free(d->kl);
    *d = (struct divergence){0};
}

static int compare_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sorted_percentile(const double *sorted, size_t n, double part)
{
    double at = part * (double)(n - 1);
    size_t below = (size_t)at;
    double rest = at - (double)below;
    return below + 1 < n ? sorted[below] + rest * (sorted[below + 1] - sorted[below])
                         : sorted[n - 1];
}

static struct estimate estimate_percentile(const struct divergence *d, double part)
{
    double error = sqrt(part * (1 - part) / (double)d->n), low = part - error, high = part + error;
    return (struct estimate){
        sorted_percentile(d->kl, d->n, part),
        low < 0 || high > 1
            ? NAN
            : (sorted_percentile(d->kl, d->n, high) - sorted_percentile(d->kl, d->n, low)) / 2};
}

static struct estimate estimate_mean(double sum, double squares, size_t count)
{
    double n = (double)count, mean = sum / n;
    return (struct estimate){mean,
                             count > 1 ? sqrt(fmax(0, squares - sum * mean) / (n - 1) / n) : NAN};
}

void divergence_resolve(struct divergence *d, struct divergence_result *out)
{
    qsort(d->kl, d->n, sizeof *d->kl, compare_ascending);
    *out = (struct divergence_result){
        .n = d->n,
        .kl = estimate_mean(d->kl_sum, d->kl_squared, d->n),
        .same_top = estimate_mean((double)d->same_top, (double)d->same_top, d->n),
        .median = estimate_percentile(d, 0.5),
        .p90 = estimate_percentile(d, 0.9),
        .p95 = estimate_percentile(d, 0.95),
        .p99 = estimate_percentile(d, 0.99),
        .p99_9 = estimate_percentile(d, 0.999),
        .greatest = d->kl[d->n - 1],
        .loss = estimate_mean(d->loss, d->loss_squared, d->n),
        .other_loss = estimate_mean(d->other_loss, d->other_squared, d->n),
        .change = estimate_mean(d->change, d->change_squared, d->n),
    };
}
