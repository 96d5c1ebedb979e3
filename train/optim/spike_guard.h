#ifndef PRATTLE_TRAIN_OPTIM_SPIKE_GUARD_H
#define PRATTLE_TRAIN_OPTIM_SPIKE_GUARD_H
/*
 * The spike guard: detects steps whose loss or gradient norm is more than z standard deviations
 * above its exponential moving mean over about 100 steps, so that the trainer can skip them.
 */
#include <stdbool.h>
#include <stdint.h>

enum { SPIKE_LOSS, SPIKE_NORM, SPIKE_SERIES };

struct spike_guard {
    int64_t n; /* steps added; there are no spikes among the first SPIKE_GUARD_WARMUP */
    double mean[SPIKE_SERIES], variance[SPIKE_SERIES];
};
enum { SPIKE_GUARD_WARMUP = 50 };

/* Whether a step with this loss and gradient norm is a spike; never if z is 0. */
bool spike_guard_detects(const struct spike_guard *g, double loss, double norm, double z);
/* Add a step that was taken to the statistics. */
void spike_guard_add(struct spike_guard *g, double loss, double norm);

#endif
