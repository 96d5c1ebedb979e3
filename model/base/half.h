#ifndef PRATTLE_MODEL_BASE_HALF_H
#define PRATTLE_MODEL_BASE_HALF_H
/*
 * The bits of floats, and conversions between IEEE 754 binary16 or bfloat16 and binary32, rounding
 * to nearest even.
 * Subnormals and infinities are exact; NaN stays NaN. Portable C, for binary16 bit for bit what
 * the vector instructions (F16C, AVX-512) give.
 */
#include <stdint.h>
#include <string.h>

static inline uint32_t float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float float_of_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline float half_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t rest = (uint32_t)(h & 0x7fffu) << 13;
    if (rest >= 0x7c00u << 13) { /* infinity, or NaN made quiet as vcvtph2ps does */
        uint32_t quiet = rest > 0x7c00u << 13 ? 0x400000u : 0;
        return float_of_bits(sign | 0x7f800000u | (rest & 0x7fffffu) | quiet);
    }
    /* 2^112 moves the exponent's bias from 15 to 127 and makes subnormals normal. */
    return float_of_bits(sign | float_bits(float_of_bits(rest) * 0x1p112f));
}

static inline uint16_t half_from_f32(float f)
{
    uint32_t u = float_bits(f), sign = u >> 16 & 0x8000u;
    u &= 0x7fffffffu;
    if (u > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (u >> 13 & 0x3ffu));
    if (u >= 0x477ff000u) /* rounds beyond 65504 */
        return (uint16_t)(sign | 0x7c00u);
    if (u < 0x38800000u) { /* subnormal: let the adder round at 2^-24 */
        uint32_t r = float_bits(float_of_bits(u) + 0.5f);
        return (uint16_t)(sign | (r - 0x3f000000u));
    }
    uint32_t odd = u >> 13 & 1u;
    return (uint16_t)(sign | ((u - 0x38000000u + 0xfffu + odd) >> 13));
}

static inline float bf16_to_f32(uint16_t b)
{
    return float_of_bits((uint32_t)b << 16);
}

static inline uint16_t bf16_from_f32(float f)
{
    uint32_t u = float_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

#endif
