#ifndef PRATTLE_MODEL_KERNELS_LANES_ROWS_H
#define PRATTLE_MODEL_KERNELS_LANES_ROWS_H
/* Row operations (row_kernels.h) and the epilogue of products (matrix_kernels.h), over the lanes of
 * lanes.h. */
#include "model/kernels/functions.h"
#include "model/kernels/lanes.h"
#include "model/kernels/matrix_kernels.h"
#include "model/kernels/q8_scale.h"
#include "model/kernels/row_kernels.h"

LANES void epilogue_row(float *y, const float *acc, const float *bias, size_t n,
                        const enum epilogue f)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        struct v16 a = v_load_n(acc + i, used);
        if (bias != NULL)
            a = v_add(a, v_load_n(bias + i, used));
        if (f == EPILOGUE_ADD)
            a = v_add(v_load_n(y + i, used), a);
        if (f > EPILOGUE_ADD)
            a = v_activation(a, (enum activation)(f - EPILOGUE_ADD - 1));
        v_store_n(y + i, a, used);
    }
}

static void epilogue_rows(float *y, size_t ldy, const float *acc, size_t ldacc, const float *bias,
                          int rows, size_t n, enum epilogue f)
{
    for (int r = 0; r < rows; r++, y += ldy, acc += ldacc) {
        switch (f) {
        case EPILOGUE_STORE:
            epilogue_row(y, acc, bias, n, EPILOGUE_STORE);
            break;
        case EPILOGUE_ADD:
            epilogue_row(y, acc, bias, n, EPILOGUE_ADD);
            break;
#define ROW(WORD, name, ...)                                                                       \
    case EPILOGUE_##WORD:                                                                          \
        epilogue_row(y, acc, bias, n, EPILOGUE_##WORD);                                            \
        break;
            EACH_ACTIVATION(ROW)
#undef ROW
        }
    }
}

static void normalize_row(float *y, const float *x, const float *weight, const float *bias,
                          size_t n, float epsilon)
{
    struct v16 sum = v_set(0), squares = v_set(0), zero = v_set(0);
    for (size_t i = 0; i < n; i += LANES_N)
        sum = v_add(sum, v_load_n(x + i, lanes_used(n, i)));
    struct v16 mean = v_set(v_sum(sum) / (float)n);
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        struct v16 d = v_keep(v_sub(v_load_n(x + i, used), mean), used, zero);
        squares = v_fma(d, d, squares);
    }
    struct v16 inverse = v_set(1 / sqrtf(v_sum(squares) / (float)n + epsilon));
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        struct v16 d = v_mul(v_sub(v_load_n(x + i, used), mean), inverse);
        v_store_n(y + i, v_fma(d, v_load_n(weight + i, used), v_load_n(bias + i, used)), used);
    }
}

static void add_row(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        v_store_n(y + i, v_add(v_load_n(y + i, used), v_load_n(x + i, used)), used);
    }
}

static void scale_row(float *y, float a, size_t n)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        v_store_n(y + i, v_mul(v_load_n(y + i, used), v_set(a)), used);
    }
}

static void divide_row(float *y, const float *x, float a, size_t n)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        v_store_n(y + i, v_div(v_load_n(x + i, used), v_set(a)), used);
    }
}

static void widen_row(float *y, const uint16_t *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        v_store_n(y + i, v_load_half_n(x + i, used), used);
    }
}

static void round_row(uint16_t *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES_N) {
        int used = lanes_used(n, i);
        v_store_half_n(y + i, v_load_n(x + i, used), used);
    }
}

/* As roundf, once it is truncated. */
LANES struct v16 v_round_away(struct v16 a)
{
    return v_add(a, v_copysign(v_set(Q8_BELOW_HALF), a));
}

static void quantize_q8(struct q8_block *y, const float *x)
{
    const struct v16 first = v_load(x), second = v_load(x + LANES_N);
    const struct q8_scale scale = q8_scale_of(v_largest_bits(first, second));
    const struct v16 by = v_set(scale.inverse);
    y->d = scale.d;
    if (scale.inverse == 0) {
        memset(y->q, 0, sizeof y->q);
        return;
    }
    v_store_i8(y->q, v_round_away(v_mul(first, by)));
    v_store_i8(y->q + LANES_N, v_round_away(v_mul(second, by)));
}

static const struct row_kernels row_table = {.layernorm = normalize_row,
                                             .add = add_row,
                                             .scale = scale_row,
                                             .divide = divide_row,
                                             .half_to_f32 = widen_row,
                                             .half_from_f32 = round_row,
                                             .quantize_q8 = quantize_q8};

#endif
