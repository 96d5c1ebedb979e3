#include "train/step/half_partials.h"

#include "model/base/half.h"

enum { LANES = 16 /* a constant number of turns is computed at once */ };

void half_partials_round(float *x, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            x[i + k] = bf16_to_f32(bf16_from_f32(x[i + k]));
    for (; i < n; i++)
        x[i] = bf16_to_f32(bf16_from_f32(x[i]));
}

void half_partials_pack(uint16_t *restrict to, const float *restrict from, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            to[i + k] = bf16_from_f32(from[i + k]);
    for (; i < n; i++)
        to[i] = bf16_from_f32(from[i]);
}

void half_partials_unpack(float *restrict to, const uint16_t *restrict from, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            to[i + k] = bf16_to_f32(from[i + k]);
    for (; i < n; i++)
        to[i] = bf16_to_f32(from[i]);
}
