#ifndef PRATTLE_MODEL_KERNELS_LANES_BF16_H
#define PRATTLE_MODEL_KERNELS_LANES_BF16_H
/*
 * bf16_kernels.h over the lanes of lanes.h, for sets without instructions for it: packed factors
 * are floats that bfloat16 has, a row tile [K,R], a strip [K,16 C]. The including file defines
 * pack_rows and pack_columns (matrix_kernels.h), and BF16_TILES(T), which is T(R, C) for each R
 * from 1 to BF16_ROWS, C being BF16_REGISTERS of 16 columns.
 */
#include "model/kernels/bf16_kernels.h"
#include "model/kernels/lanes.h"

#if defined(BF16_TILES)

#ifdef __SSE__
#include <xmmintrin.h>
#endif

enum { BF16_COLS = 16 * BF16_REGISTERS };

/* Subnormals count as 0 from here to flush_end, with what it returns. */
static inline unsigned flush_begin(void)
{
#ifdef __SSE__
    const unsigned was = _mm_getcsr();
    _mm_setcsr(was | 0x8040u); /* flush to zero, denormals are zero */
    return was;
#else
    return 0;
#endif
}

static inline void flush_end(unsigned was)
{
#ifdef __SSE__
    _mm_setcsr(was);
#else
    (void)was;
#endif
}

/* x [n] to what bfloat16 has; a subnormal to 0. */
static void round_to_bf16(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t u = float_bits(x[i]), size = u & 0x7fffffffu;
        const uint32_t nearest = (u + 0x7fffu + (u >> 16 & 1u)) & 0xffff0000u;
        const uint32_t normal = size > 0x7f800000u ? (u | 0x400000u) & 0xffff0000u : nearest;
        x[i] = float_of_bits(size < 0x800000u ? u & 0x80000000u : normal);
    }
}

static void bf16_pack_a(void *packed, const float *a, size_t lda, bool transposed, float alpha,
                        int R, int K)
{
    float *to = packed;
    const size_t n = (size_t)K * (size_t)R, all = (size_t)bf16_filled(K) * (size_t)R;
    if (!transposed)
        pack_rows(to, a, lda, R, K);
    for (int k = 0; k < K && transposed; k++)
        memcpy(to + (size_t)k * (size_t)R, a + (size_t)k * lda, (size_t)R * sizeof *to);
    for (size_t i = 0; i < n && alpha != 1; i++)
        to[i] *= alpha;
    round_to_bf16(to, n);
    memset(to + n, 0, (all - n) * sizeof *to);
}

static void bf16_pack_strip(float *to, const float *b, size_t ldb, bool transposed, int cols, int K)
{
    for (int k = cols < BF16_COLS || !transposed ? 0 : K; k < K; k++) {
        float *row = to + (size_t)k * BF16_COLS;
        memset(row + cols, 0, (size_t)(BF16_COLS - cols) * sizeof *to);
        if (!transposed)
            memcpy(row, b + (size_t)k * ldb, (size_t)cols * sizeof *to);
    }
    if (transposed)
        pack_columns(to, BF16_COLS, b, ldb, cols, K);
    round_to_bf16(to, (size_t)K * BF16_COLS);
    memset(to + (size_t)K * BF16_COLS, 0, (size_t)(bf16_filled(K) - K) * BF16_COLS * sizeof *to);
}

static void bf16_pack_b(void *strips, const float *b, size_t ldb, bool transposed, int cols, int K)
{
    float *to = strips;
    for (int col = 0; col < cols; col += BF16_COLS, to += (size_t)bf16_filled(K) * BF16_COLS)
        bf16_pack_strip(to, b + (transposed ? (size_t)col * ldb : (size_t)col), ldb, transposed,
                        cols - col < BF16_COLS ? cols - col : BF16_COLS, K);
}

/* One more k: sum += the row tile's column times the strip's row. */
LANES void bf16_step(const int R, const int C, struct v16 sum[BF16_ROWS][BF16_REGISTERS],
                     const float *a, const float *b)
{
    struct v16 w[BF16_REGISTERS];
#pragma GCC unroll 4
    for (int c = 0; c < C; c++)
        w[c] = v_load(b + 16 * c);
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++)
            sum[r][c] = v_fma(v_set(a[r]), w[c], sum[r][c]);
}

/* acc [R,16 C] += a row tile times a strip, K in whole groups. */
LANES void bf16_tile(const int R, const int C, float *acc, size_t ldacc, const float *a,
                     const float *b, int K)
{
    for (int k = 0; k < K; k += BF16_GROUP) {
        struct v16 even[BF16_ROWS][BF16_REGISTERS], odd[BF16_ROWS][BF16_REGISTERS];
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
#pragma GCC unroll 4
            for (int c = 0; c < C; c++)
                even[r][c] = odd[r][c] = v_set(0);
        for (int i = 0; i < BF16_GROUP; i += 2, a += 2 * R, b += 32 * C) {
            bf16_step(R, C, even, a, b);
            bf16_step(R, C, odd, a + R, b + 16 * C);
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
#pragma GCC unroll 4
            for (int c = 0; c < C; c++) {
                float *to = acc + (size_t)r * ldacc + 16 * c;
                v_store(to, v_add(v_load(to), v_add(even[r][c], odd[r][c])));
            }
    }
}

typedef void bf16_tile_fn(float *acc, size_t ldacc, const float *a, const float *b, int K);

/* Not inlined: nothing of it may move out of where subnormals count as 0. */
#define BF16_TILE(R, C)                                                                            \
    static __attribute__((noinline)) void bf16_tile_##R(float *acc, size_t ldacc, const float *a,  \
                                                        const float *b, int K)                     \
    {                                                                                              \
        bf16_tile(R, C, acc, ldacc, a, b, K);                                                      \
    }
#define BF16_TILE_ROW(R, C) [R] = bf16_tile_##R,

BF16_TILES(BF16_TILE)
static bf16_tile_fn *const bf16_tiles[BF16_ROWS + 1] = {BF16_TILES(BF16_TILE_ROW)};

static void bf16_multiply(float *acc, size_t ldacc, bool fresh, const void *packed, int R,
                          const void *strips, int cols, int K)
{
    const int filled = bf16_filled(K);
    const float *b = strips;
    const unsigned was = flush_begin();
    for (int r = 0; r < R && fresh; r++)
        memset(acc + (size_t)r * ldacc, 0, (size_t)cols * sizeof *acc);
    for (int col = 0; col < cols; col += BF16_COLS, b += (size_t)filled * BF16_COLS) {
        float *c = acc + col;
        const int used = cols - col < BF16_COLS ? cols - col : BF16_COLS;
        if (used == BF16_COLS) {
            bf16_tiles[R](c, ldacc, packed, b, filled);
            continue;
        }
        float edge[BF16_ROWS * BF16_COLS] = {0};
        for (int r = 0; r < R; r++)
            memcpy(edge + r * BF16_COLS, c + (size_t)r * ldacc, (size_t)used * sizeof *c);
        bf16_tiles[R](edge, BF16_COLS, packed, b, filled);
        for (int r = 0; r < R; r++)
            memcpy(c + (size_t)r * ldacc, edge + r * BF16_COLS, (size_t)used * sizeof *c);
    }
    flush_end(was);
}

static const struct bf16_kernels bf16_table = {.tile_rows = BF16_ROWS,
                                               .tile_cols = BF16_COLS,
                                               .element = sizeof(float),
                                               .pack_a = bf16_pack_a,
                                               .pack_b = bf16_pack_b,
                                               .multiply = bf16_multiply};

#endif

#endif
