#ifndef PRATTLE_MODEL_KERNELS_Q8_SCALE_H
#define PRATTLE_MODEL_KERNELS_Q8_SCALE_H
/*
 * The scale of a block of Q8_0 (q8_block.h), for the functions that quantize one.
 */
#include "model/base/half.h"

#include <math.h>
#include <stdint.h>

struct q8_scale {
    uint16_t d;    /* binary16 */
    float inverse; /* 1 / d before that was rounded; 0: every integer of the block is 0 */
};

/* Of a block by the bits of its largest magnitude, which order as the magnitudes do; NaN is
 * greatest. */
static inline struct q8_scale q8_scale_of(uint32_t largest)
{
    if (largest >= 0x7f800000u)
        return (struct q8_scale){0x7e00, 0};
    const float d = float_of_bits(largest) / 127.0f, inverse = d == 0 ? 0 : 1.0f / d;
    return (struct q8_scale){half_from_f32(d), isinf(inverse) ? 0 : inverse};
}

/* The float below 1/2: added to a number with its sign, it brings halves, and nothing less, to the
 * next integer. */
#define Q8_BELOW_HALF 0x1.fffffep-2f

#endif
