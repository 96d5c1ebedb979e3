#ifndef PRATTLE_TRAIN_OPTIM_SPIKE_GUARD_H
#define PRATTLE_TRAIN_OPTIM_SPIKE_GUARD_H
/*
 * Which steps not to take: those whose loss or gradient norm lies far above the ones
 * before, in deviations of an exponential mean that forgets over about 100 steps.
 */
#include <stdbool.h>
#include <stdint.h>

enum { GUARD_LOSS, GUARD_NORM, GUARD_SERIES };

struct guard {
    int64_t n; /* steps seen; the first GUARD_LEARNS are never judged */
    double mean[GUARD_SERIES], variance[GUARD_SERIES];
};
enum { GUARD_LEARNS = 50 };

/* z 0: never. */
bool guard_spike(const struct guard *g, double loss, double norm, double z);
void guard_add(struct guard *g, double loss, double norm);

#endif
