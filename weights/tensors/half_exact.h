#ifndef PRATTLE_WEIGHTS_TENSORS_HALF_EXACT_H
#define PRATTLE_WEIGHTS_TENSORS_HALF_EXACT_H
/*
 * Exact half conversion: 16-bit floats widened to fp32, as GGUF requires for vectors, and restored
 * bit for bit. Unlike the conversions of half.h it preserves the payload and the signalling bit of
 * a NaN.
 */
#include "model/base/half.h"
#include "model/params.h"

#include <stdbool.h>
#include <string.h>

static inline float half_exact_to_f32(uint16_t u, enum dtype d)
{
    if (d == DTYPE_F16 && (u & 0x7c00u) == 0x7c00u)
        return float_of_bits((uint32_t)(u & 0x8000u) << 16 | 0x7f800000u |
                             (uint32_t)(u & 0x3ffu) << 13);
    return d == DTYPE_F16 ? half_to_f32(u) : float_of_bits((uint32_t)u << 16);
}

/* out [n] = the elements of src, of type d, in fp32; src may begin where out does. */
static inline void half_exact_widen(float *out, const void *src, enum dtype d, size_t n)
{
    if (d == DTYPE_F32) {
        memmove(out, src, n * sizeof *out);
        return;
    }
    while (n-- > 0) {
        uint16_t u;
        memcpy(&u, (const char *)src + n * sizeof u, sizeof u);
        out[n] = half_exact_to_f32(u, d);
    }
}

/* False, with *out unchanged, if f is not exactly a value of type d. */
static inline bool half_exact_from_f32(uint16_t *out, float f, enum dtype d)
{
    uint32_t u = float_bits(f);
    uint16_t h = (uint16_t)(u >> 16);
    if (d == DTYPE_F16)
        h = (u & 0x7f800000u) == 0x7f800000u
                ? (uint16_t)((h & 0x8000u) | 0x7c00u | (u >> 13 & 0x3ffu))
                : half_from_f32(f);
    if (float_bits(half_exact_to_f32(h, d)) != u)
        return false;
    *out = h;
    return true;
}

#endif
