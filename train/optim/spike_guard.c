/*
 * Two series, loss and gradient norm, each with an exponential mean and variance:
 *
 *   n += 1, a = max(1 / n, 1 / MEMORY_STEPS), off = x - mean
 *   mean += a off, variance = (1 - a) (variance + a off^2)
 *
 * which is Welford's update while n < MEMORY_STEPS. Only steps that were taken are added, so that a
 * spike does not raise the threshold for the next one.
 */
#include "train/optim/spike_guard.h"

#include <math.h>

static const double MEMORY_STEPS = 100;

bool spike_guard_detects(const struct spike_guard *g, double loss, double norm, double z)
{
    const double x[] = {[SPIKE_LOSS] = loss, [SPIKE_NORM] = norm};
    bool spike = false;
    for (int i = 0; i < SPIKE_SERIES; i++)
        spike |= x[i] - g->mean[i] > z * sqrt(g->variance[i]);
    return spike && z > 0 && g->n >= SPIKE_GUARD_WARMUP;
}

void spike_guard_add(struct spike_guard *g, double loss, double norm)
{
    const double x[] = {[SPIKE_LOSS] = loss, [SPIKE_NORM] = norm};
    g->n++;
    double weight = fmax(1.0 / (double)g->n, 1.0 / MEMORY_STEPS);
    for (int i = 0; i < SPIKE_SERIES; i++) {
        double off = x[i] - g->mean[i];
        g->mean[i] += weight * off;
        g->variance[i] = (1 - weight) * (g->variance[i] + weight * off * off);
    }
}
