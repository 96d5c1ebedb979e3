#include "model/kernels/q8.h"

#include "model/base/half.h"
#include "model/kernels/q8_scale.h"
#include "model/kernels/row_kernels.h"

#include <math.h>

static int8_t round_scaled(float x)
{
    return (int8_t)(int32_t)(x + copysignf(Q8_BELOW_HALF, x));
}

void q8_quantize(struct q8_block *out, const float x[Q8_BLOCK])
{
    row_kernels()->quantize_q8(out, x);
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
        const struct q8_scale s = q8_scale_of((uint32_t)largest[n]);
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
