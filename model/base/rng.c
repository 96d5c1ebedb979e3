#include "model/base/rng.h"

#include <math.h>

static const double TWO_PI = 6.283185307179586;

void rng_words(uint32_t out[4], uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static double unit(uint32_t hi, uint32_t lo)
{
    return (double)((uint64_t)hi << 21 | lo >> 11) * 0x1p-53;
}

double rng_uniform(uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint32_t w[4];
    rng_words(w, seed, stream, counter);
    return unit(w[0], w[1]);
}

float rng_normal(uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint32_t w[4];
    rng_words(w, seed, stream, counter >> 1);
    double radius = sqrt(-2.0 * log(1.0 - unit(w[0], w[1])));
    double angle = TWO_PI * unit(w[2], w[3]);
    return (float)(radius * (counter & 1 ? sin(angle) : cos(angle)));
}
