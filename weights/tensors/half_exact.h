#ifndef PRATTLE_WEIGHTS_TENSORS_HALF_EXACT_H
#define PRATTLE_WEIGHTS_TENSORS_HALF_EXACT_H
/*
 * The exact half conversion: 16-bit floats stored as fp32, as GGUF wants its vectors, and got
 * back bit for bit. Unlike half.h's conversions it preserves the payload and the signalling bit
 * of a NaN.
 */
#include "model/base/half.h"
#include "model/params.h"

#include <stdbool.h>

static inline float half_exact_to_f32(uint16_t u, enum dtype d)
{
    if (d == DTYPE_F16 && (u & 0x7c00u) == 0x7c00u)
        return half_float((uint32_t)(u & 0x8000u) << 16 | 0x7f800000u |
                          (uint32_t)(u & 0x3ffu) << 13);
    return d == DTYPE_F16 ? half_to_f32(u) : half_float((uint32_t)u << 16);
}

/* False, with *out unset, when f is no such value. */
static inline bool half_exact_from_f32(uint16_t *out, float f, enum dtype d)
{
    uint32_t u = half_bits(f);
    uint16_t h = (uint16_t)(u >> 16);
    if (d == DTYPE_F16)
        h = (u & 0x7f800000u) == 0x7f800000u
                ? (uint16_t)((h & 0x8000u) | 0x7c00u | (u >> 13 & 0x3ffu))
                : half_from_f32(f);
    if (half_bits(half_exact_to_f32(h, d)) != u)
        return false;
    *out = h;
    return true;
}

#endif
