#include "weights/gguf/blocks.h"

#include "model/base/half.h"

static float read_half(const unsigned char *p)
{
    return half_to_f32((uint16_t)(p[0] | p[1] << 8));
}

static uint32_t read_fifth_bits(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Bits at .. at + n - 1. */
static int take_bits(uint32_t word, int at, int n)
{
    return (int)(word >> at & ((1u << n) - 1));
}

/* ---- blocks of 32 ---- */

static void dequantize_q4_0(float *out, const unsigned char *block)
{
    const float d = read_half(block);
    const unsigned char *qs = block + 2;
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)((qs[i] & 15) - 8);
        out[i + 16] = d * (float)((qs[i] >> 4) - 8);
    }
}

static void dequantize_q4_1(float *out, const unsigned char *block)
{
    const float d = read_half(block), m = read_half(block + 2);
    const unsigned char *qs = block + 4;
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)(qs[i] & 15) + m;
        out[i + 16] = d * (float)(qs[i] >> 4) + m;
    }
}

static void dequantize_q5_0(float *out, const unsigned char *block)
{
    const float d = read_half(block);
    const uint32_t qh = read_fifth_bits(block + 2);
    const unsigned char *qs = block + 6;
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)((take_bits(qs[i], 0, 4) | take_bits(qh, i, 1) << 4) - 16);
        out[i + 16] = d * (float)((take_bits(qs[i], 4, 4) | take_bits(qh, i + 16, 1) << 4) - 16);
    }
}

static void dequantize_q5_1(float *out, const unsigned char *block)
{
    const float d = read_half(block), m = read_half(block + 2);
    const uint32_t qh = read_fifth_bits(block + 4);
    const unsigned char *qs = block + 8;
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)(take_bits(qs[i], 0, 4) | take_bits(qh, i, 1) << 4) + m;
        out[i + 16] = d * (float)(take_bits(qs[i], 4, 4) | take_bits(qh, i + 16, 1) << 4) + m;
    }
}

static void dequantize_q8_0(float *out, const unsigned char *block)
{
    const float d = read_half(block);
    const signed char *qs = (const signed char *)block + 2;
    for (int i = 0; i < 32; i++)
        out[i] = d * (float)qs[i];
}

static void dequantize_iq4_nl(float *out, const unsigned char *block)
{
    static const float level[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                    1,    13,   25,  38,  53,  69,  89,  113};
    const float d = read_half(block);
    const unsigned char *qs = block + 2;
    for (int i = 0; i < 16; i++) {
        out[i] = d * level[qs[i] & 15];
        out[i + 16] = d * level[qs[i] >> 4];
    }
}

/* ---- blocks of 256 ---- */

static void dequantize_q2_k(float *out, const unsigned char *block)
{
    const unsigned char *scales = block, *qs = block + 16;
    const float d = read_half(block + 80), dmin = read_half(block + 82);
    for (int g = 0; g < 16; g++, out += 16) {
        const unsigned char *q = qs + g / 8 * 32 + g % 2 * 16;
        const int shift = g % 8 / 2 * 2;
        const float scale = d * (float)(scales[g] & 15), min = dmin * (float)(scales[g] >> 4);
        for (int i = 0; i < 16; i++)
            out[i] = scale * (float)take_bits(q[i], shift, 2) - min;
    }
}

static void dequantize_q3_k(float *out, const unsigned char *block)
{
    const unsigned char *hmask = block, *qs = block + 32, *scales = block + 96;
    const float d = read_half(block + 108);
    for (int g = 0; g < 16; g++, out += 16) {
        const unsigned char *q = qs + g / 8 * 32 + g % 2 * 16, *third = hmask + g % 2 * 16;
        const int shift = g % 8 / 2 * 2;
        const int low = take_bits(scales[g % 8], g / 8 * 4, 4);
        const int high = take_bits(scales[8 + g % 4], g / 4 * 2, 2);
        const float scale = d * (float)((low | high << 4) - 32);
        for (int i = 0; i < 16; i++)
            out[i] = scale *
                     (float)((take_bits(q[i], shift, 2) | take_bits(third[i], g / 2, 1) << 2) - 4);
    }
}

/* Scale and minimum of group g of Q4_K and Q5_K. */
static void unpack_scale(float *scale, float *min, const unsigned char *block, int g)
{
    const unsigned char *p = block + 4 + g % 4;
    const int s = g < 4 ? p[0] & 63 : (p[8] & 15) | p[0] >> 6 << 4;
    const int m = g < 4 ? p[4] & 63 : p[8] >> 4 | p[4] >> 6 << 4;
    *scale = read_half(block) * (float)s;
    *min = read_half(block + 2) * (float)m;
}

static void dequantize_q4_k(float *out, const unsigned char *block)
{
    const unsigned char *qs = block + 16;
    for (int g = 0; g < 8; g++, out += 32) {
        float scale, min;
        unpack_scale(&scale, &min, block, g);
        for (int i = 0; i < 32; i++)
            out[i] = scale * (float)take_bits(qs[g / 2 * 32 + i], g % 2 * 4, 4) - min;
    }
}

static void dequantize_q5_k(float *out, const unsigned char *block)
{
    const unsigned char *qh = block + 16, *qs = block + 48;
    for (int g = 0; g < 8; g++, out += 32) {
        float scale, min;
        unpack_scale(&scale, &min, block, g);
        for (int i = 0; i < 32; i++) {
            const int low = take_bits(qs[g / 2 * 32 + i], g % 2 * 4, 4);
            out[i] = scale * (float)(low | take_bits(qh[i], g, 1) << 4) - min;
        }
    }
}

static void dequantize_q6_k(float *out, const unsigned char *block)
{
    const unsigned char *ql = block, *qh = block + 128;
    const signed char *scales = (const signed char *)block + 192;
    const float d = read_half(block + 208);
    for (int g = 0; g < 16; g++, out += 16) {
        const int n = g / 8, j = g % 8 / 2, at = g % 2 * 16;
        const unsigned char *low = ql + 64 * n + j % 2 * 32 + at, *high = qh + 32 * n + at;
        const float scale = d * (float)scales[g];
        for (int i = 0; i < 16; i++)
            out[i] =
                scale *
                (float)((take_bits(low[i], j / 2 * 4, 4) | take_bits(high[i], j * 2, 2) << 4) - 32);
    }
}

/* ---- the list ---- */

/* By the numbers that ggml gives them. */
static const struct block_format formats[] = {
    [GGML_F32] = {"F32", DTYPE_F32, 1, 4, NULL},
    [GGML_F16] = {"F16", DTYPE_F16, 1, 2, NULL},
    [2] = {"Q4_0", DTYPE_F32, 32, 18, dequantize_q4_0},
    [3] = {"Q4_1", DTYPE_F32, 32, 20, dequantize_q4_1},
    [6] = {"Q5_0", DTYPE_F32, 32, 22, dequantize_q5_0},
    [7] = {"Q5_1", DTYPE_F32, 32, 24, dequantize_q5_1},
    [GGML_Q8_0] = {"Q8_0", DTYPE_F32, 32, 34, dequantize_q8_0},
    [10] = {"Q2_K", DTYPE_F32, 256, 84, dequantize_q2_k},
    [11] = {"Q3_K", DTYPE_F32, 256, 110, dequantize_q3_k},
    [12] = {"Q4_K", DTYPE_F32, 256, 144, dequantize_q4_k},
    [13] = {"Q5_K", DTYPE_F32, 256, 176, dequantize_q5_k},
    [14] = {"Q6_K", DTYPE_F32, 256, 210, dequantize_q6_k},
    [20] = {"IQ4_NL", DTYPE_F32, 32, 18, dequantize_iq4_nl},
    [GGML_BF16] = {"BF16", DTYPE_BF16, 1, 2, NULL},
};

/* The rest, those withdrawn among them. */
static const char *const unread[] = {
    [4] = "Q4_2",        [5] = "Q4_3",      [9] = "Q8_1",        [15] = "Q8_K",
    [16] = "IQ2_XXS",    [17] = "IQ2_XS",   [18] = "IQ3_XXS",    [19] = "IQ1_S",
    [21] = "IQ3_S",      [22] = "IQ2_S",    [23] = "IQ4_XS",     [24] = "I8",
    [25] = "I16",        [26] = "I32",      [27] = "I64",        [28] = "F64",
    [29] = "IQ1_M",      [31] = "Q4_0_4_4", [32] = "Q4_0_4_8",   [33] = "Q4_0_8_8",
    [34] = "TQ1_0",      [35] = "TQ2_0",    [36] = "IQ4_NL_4_4", [37] = "IQ4_NL_4_8",
    [38] = "IQ4_NL_8_8", [39] = "MXFP4",    [40] = "NVFP4",
};

const struct block_format *block_format_of(uint32_t type)
{
    return type < sizeof formats / sizeof *formats && formats[type].name != NULL ? &formats[type]
                                                                                 : NULL;
}

const char *block_unread_name(uint32_t type)
{
    return type < sizeof unread / sizeof *unread ? unread[type] : NULL;
}

const char *block_names_read(void)
{
    return "F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K and IQ4_NL";
}
