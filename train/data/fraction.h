#ifndef PRATTLE_TRAIN_DATA_FRACTION_H
#define PRATTLE_TRAIN_DATA_FRACTION_H
/* Numbers of steps that are given as a part of a run. */
#include <math.h>
#include <stdint.h>

/* That part of n, rounded down; 0.29 of 100 is 29, though as a double it is a little less. */
static inline int64_t fraction_of(double part, int64_t n)
{
    return (int64_t)floor(part * (double)n * (1 + 0x1p-50));
}

#endif
