#include "tests/lib/normal.h"

#include "model/base/rng.h"

#include <math.h>

static const double TWO_PI = 6.283185307179586;

/* In [0, 1), 53 bits. */
static double unit_number(uint32_t hi, uint32_t lo)
{
    return (double)((uint64_t)hi << 21 | lo >> 11) * 0x1p-53;
}

float normal_number(uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint32_t w[4];
    rng_words(w, seed, stream, counter >> 1);
    double radius = sqrt(-2.0 * log(1.0 - unit_number(w[0], w[1])));
    double angle = TWO_PI * unit_number(w[2], w[3]);
    return (float)(radius * (counter & 1 ? sin(angle) : cos(angle)));
}
