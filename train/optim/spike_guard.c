#include "train/optim/spike_guard.h"

#include <math.h>

static const double MEMORY_STEPS = 100;

bool spike_guard_hits(const struct spike_guard *g, double loss, double norm, double z)
{
    const double x[] = {[SPIKE_LOSS] = loss, [SPIKE_NORM] = norm};
    bool spike = false;
    for (int i = 0; i < SPIKE_SERIES; i++)
        spike |= x[i] - g->mean[i] > z * sqrt(g->variance[i]);
    return spike && z > 0 && g->n >= SPIKE_GUARD_WARMUP;
}

/* Welford's update with a floor under its weight; the first steps count alike. */
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
