#include "train/optim/spike_guard.h"

#include <math.h>

static const double MEMORY_STEPS = 100;

bool guard_spike(const struct guard *g, double loss, double norm, double z)
{
    const double x[] = {[GUARD_LOSS] = loss, [GUARD_NORM] = norm};
    bool spike = false;
    for (int i = 0; i < GUARD_SERIES; i++)
        spike |= x[i] - g->mean[i] > z * sqrt(g->variance[i]);
    return spike && z > 0 && g->n >= GUARD_LEARNS;
}

/* Welford's update with a floor under its weight; the first steps count alike. */
void guard_add(struct guard *g, double loss, double norm)
{
    const double x[] = {[GUARD_LOSS] = loss, [GUARD_NORM] = norm};
    g->n++;
    double weight = fmax(1.0 / (double)g->n, 1.0 / MEMORY_STEPS);
    for (int i = 0; i < GUARD_SERIES; i++) {
        double off = x[i] - g->mean[i];
        g->mean[i] += weight * off;
        g->variance[i] = (1 - weight) * (g->variance[i] + weight * off * off);
    }
}
