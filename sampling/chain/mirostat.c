#include "sampling/chain/mirostat.h"

#include "sampling/chain/filters.h"

#include <float.h>
#include <math.h>

enum { ZIPF_TOKENS = 100 };

void mirostat_reset(struct mirostat *m)
{
    m->mu = 2 * m->tau;
}

/* How fast probabilities fall with rank, by least squares through the origin. */
static double zipf_exponent(struct candidates *c)
{
    int n = candidates_best(c, ZIPF_TOKENS);
    double tb = 0, tt = 0;
    for (int i = 0; i + 1 < n; i++) {
        double t = log((i + 2.0) / (i + 1.0));
        double b = (double)c->logit[candidates_id(c, c->index[i])] -
                   (double)c->logit[candidates_id(c, c->index[i + 1])];
        tb += t * b;
        tt += t * t;
    }
    return tt > 0 ? tb / tt : 0;
}

static void cut_candidates(struct candidates *c, double mu)
{
    double s = zipf_exponent(c), e = s - 1;
    /* e / (1 - V^-e), which tends to 1 / log V for e = 0 */
    double ratio = fabs(e) > 1e-9 ? -e / expm1(-e * log(c->n_vocab)) : 1 / log(c->n_vocab);
    double k = pow(ratio * exp2(mu), 1 / s);
    /* The more even the distribution (s near 0), the nearer k is to 0 or to infinity: one token
     * stays where mu has too few bits for all of them, else everything. */
    if (k < c->n)
        filter_top_k(c, k > 1 ? (int)k : 1);
}

void mirostat_cut(const struct mirostat *m, struct candidates *c)
{
    if (!candidates_weigh(c))
        return;
    if (m->version == 1) {
        cut_candidates(c, (double)m->mu);
        return;
    }
    double least = (double)c->max + log(c->sum) - (double)m->mu * log(2);
    if (least > (double)c->max)
        filter_top_k(c, 1);
    else
        candidates_keep(c, candidates_logits(c), (float)fmax(least, -(double)FLT_MAX));
}

void mirostat_update(struct mirostat *m, double p)
{
    m->mu -= m->eta * (float)(-log2(p) - (double)m->tau);
}
