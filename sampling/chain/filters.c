#include "sampling/chain/filters.h"

#include "model/kernels/row_kernels.h"
#include "model/kernels/sampling_kernels.h"

#include <float.h>
#include <math.h>

void filter_temperature(struct candidates *c, float t)
{
    if (t == 1)
        return;
    if (t == 0) {
        filter_top_k(c, 1);
        return;
    }
    float high = candidates_high(c);
    if (!(high >= -FLT_MAX))
        return;
    float shift = t < 1 && fabsf(high) > FLT_MAX * t ? high : 0;
    candidates_changed(c);
    /* Rounding keeps the order, so the greatest logit stays the greatest. */
    c->high = (high - shift) / t;
    c->measured = true;
    if (c->all && shift == 0) {
        row_kernels()->divide(c->logit, c->logit, t, (size_t)c->n);
        return;
    }
    for (int i = 0; i < c->n; i++) {
        token_id id = candidates_id(c, i);
        c->logit[id] = (c->logit[id] - shift) / t;
    }
}

/* The entropy of the weighed candidates in nats; *n_alive counts logits above -inf. */
static double candidates_entropy(const struct candidates *c, const float *logit, int *n_alive)
{
    double sum = 0;
    *n_alive = 0;
    for (int i = 0; i < c->n; i++) {
        if (c->weight[i] > 0)
            sum += (double)c->weight[i] * ((double)logit[i] - (double)c->max);
        *n_alive += logit[i] >= -FLT_MAX;
    }
    return log(c->sum) - sum / c->sum;
}

void filter_dynamic_temperature(struct candidates *c, float t, float range, float exponent)
{
    if (range == 0) {
        filter_temperature(c, t);
        return;
    }
    if (!candidates_weigh(c))
        return;
    int n_alive;
    double h = candidates_entropy(c, candidates_logits(c), &n_alive);
    if (n_alive < 2)
        return;
    double share = fmin(fmax(h / log(n_alive), 0), 1);
    double low = fmax((double)t - (double)range, 0), high = (double)t + (double)range;
    filter_temperature(c, (float)(low + (high - low) * pow(share, (double)exponent)));
}

void filter_top_k(struct candidates *c, int k)
{
    if (k > 0 && k < c->n)
        candidates_keep_best(c, candidates_logits(c), NULL, k, -INFINITY);
}

void filter_top_p(struct candidates *c, float p)
{
    if (p >= 1 || !candidates_weigh(c))
        return;
    /* Tokens less likely than half of (1 - p) / n weigh less than 1 - p together, and are all cut.
     */
    double least = 0.5 * (1 - (double)p) * c->sum / c->n;
    candidates_keep_best(c, candidates_logits(c), c->weight, (double)p * c->sum,
                         (float)((double)c->max + log(least)));
}

void filter_min_p(struct candidates *c, float p)
{
    if (p == 0 || !candidates_weigh(c))
        return;
    /* Not c->max: the most likely of when they were weighed may be gone (typical_p). */
    const double high = (double)candidates_high(c);
    candidates_keep(c, candidates_logits(c), (float)(high + log((double)p)));
}

void filter_typical_p(struct candidates *c, float p)
{
    if (p >= 1 || !candidates_weigh(c))
        return;
    const float *logit = candidates_logits(c);
    int n_alive;
    double h = candidates_entropy(c, logit, &n_alive), log_sum = log(c->sum);
    /* logit may lie in key itself: each entry is read before it is written. */
    for (int i = 0; i < c->n; i++)
        c->key[i] = -(float)fabs((double)c->max + log_sum - (double)logit[i] - h);
    candidates_keep_best(c, c->key, c->weight, (double)p * c->sum, -INFINITY);
}

void filter_top_n_sigma(struct candidates *c, float n)
{
    if (n == 0 || !candidates_weigh(c))
        return;
    const double high = (double)candidates_high(c); /* as in filter_min_p */
    const float *logit = candidates_logits(c);
    double sum = 0, squares = 0;
    int n_alive = 0;
    for (int i = 0; i < c->n; i++)
        if (logit[i] >= -FLT_MAX) {
            sum += (double)logit[i] - high;
            n_alive++;
        }
    double mean = sum / n_alive;
    for (int i = 0; i < c->n; i++)
        if (logit[i] >= -FLT_MAX) {
            double d = (double)logit[i] - high - mean;
            squares += d * d;
        }
    double least = high - (double)n * sqrt(squares / n_alive);
    candidates_keep(c, logit, least > -FLT_MAX ? (float)least : -FLT_MAX);
}

void filter_xtc(struct candidates *c, float probability, float threshold, double u)
{
    if (u >= (double)probability || !candidates_weigh(c))
        return;
    const float *logit = candidates_logits(c);
    float least = fmaxf((float)((double)threshold * c->sum), FLT_TRUE_MIN);
    int n = (int)c->kernels->select(c->index, c->weight, (size_t)c->n, least, INFINITY);
    if (n < 2)
        return;
    int stays = 0;
    for (int i = 1; i < n; i++)
        if (logit[c->index[i]] <= logit[c->index[stays]])
            stays = i;
    for (int i = 0; i < n; i++)
        if (i != stays)
            c->logit[candidates_id(c, c->index[i])] = -INFINITY;
    candidates_changed(c);
}

void filter_topk_uniform(struct candidates *c, int k)
{
    filter_top_k(c, k);
    for (int i = 0; i < c->n; i++)
        if (c->logit[candidates_id(c, i)] >= -FLT_MAX)
            c->logit[candidates_id(c, i)] = 0;
    candidates_changed(c);
}
