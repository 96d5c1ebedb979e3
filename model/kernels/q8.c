#include "model/kernels/q8.h"

#include "model/base/half.h"

#include <math.h>

struct scale {
    uint16_t d;
    float inverse;
};

/* Of a block by the bits of its largest magnitude, which order as the magnitudes do; NaN is
 * greatest. */
static struct scale scale_of(uint32_t largest)
{
    if (largest >= 0x7f800000u)
        return (struct scale){0x7e00, 0};
    const float d = float_of_bits(largest) / 127.0f, inverse = d == 0 ? 0 : 1.0f / d;
    return (struct scale){half_from_f32(d), isinf(inverse) ? 0 : inverse};
}

/* As roundf: the float below 1/2 brings halves, and nothing less, to the next integer. */
static int8_t round_scaled(float x)
{
    return (int8_t)(int32_t)(x + copysignf(0x1.fffffep-2f, x));
}

void q8_quantize(struct q8_block *out, const float x[Q8_BLOCK])
{
    uint32_t largest = 0;
    for (int i = 0; i < Q8_BLOCK; i++) {
        const uint32_t size = float_bits(x[i]) & 0x7fffffffu;
        largest = size > largest ? size : largest;
    }
    const struct scale s = scale_of(largest);
    out->d = s.d;
    for (int i = 0; i < Q8_BLOCK; i++)
        out->q[i] = s.inverse == 0 ? 0 : round_scaled(x[i] * s.inverse);
}

void q8_quantize_panel(struct q8_panel *out, const float x[Q8_BLOCK][Q8_COLUMNS], int first,
                       int last)
{
    int32_t largest[Q8_COLUMNS] = {0}; /* signed: for this, every processor has a comparison */
    float inverse[Q8_COLUMNS];
    for (int k = 0; k < Q8_BLOCK; k++)
        for (int n = 0; n < Q8_COLUMNS; n++) {
            const int32_t size = (int32_t)(float_bits(x[k][n]) & 0x7fffffffu);
            largest[n] = size > largest[n] ? size : largest[n];
        }
    for (int n = first; n < last; n++) {
        const struct scale s = scale_of((uint32_t)largest[n]);
        out->d[n] = s.d;
        inverse[n] = s.inverse;
    }
    for (int k = 0; k < Q8_BLOCK; k++)
        for (int n = first; n < last; n++)
            out->q[k][n] = inverse[n] == 0 ? 0 : round_scaled(x[k][n] * inverse[n]);
}

void q8_dequantize(float out[Q8_BLOCK], const struct q8_block *b)
{
    const float d = half_to_f32(b->d);
    for (int i = 0; i < Q8_BLOCK; i++)
        out[i] = d * (float)b->q[i];
}
