#ifndef PRATTLE_TRAIN_OPTIM_SPIKE_GUARD_H
#define PRATTLE_TRAIN_OPTIM_SPIKE_GUARD_H
/*
 * Which steps not to take: those whose loss or gradient norm lies far above the ones
 * before, in deviations of an exponential mean that forgets over about 100 steps.
 */
#include <stdbool.h>
#include <stdint.h>

enum { SPIKE_LOSS, SPIKE_NORM, SPIKE_SERIES };

struct spike_guard {
    int64_t n; /* steps seen; the first SPIKE_GUARD_WARMUP are never judged */
    double mean[SPIKE_SERIES], variance[SPIKE_SERIES];
};
enum { SPIKE_GUARD_WARMUP = 50 };

/* z 0: never. */
bool spike_guard_hits(const struct spike_guard *g, double loss, double norm, double z);
void spike_guard_add(struct spike_guard *g, double loss, double norm);

#endif
