#include "model/kernels/kernels_tables.h"

#ifdef KERNELS_X86

#define LANES_AVX512
#include "model/kernels/lanes_tables.h"
#include "model/kernels/tiles.h"
#include "model/kernels/transpose_avx512.h"

/*
 * Register plan: a tile of R rows by C registers of 16 columns holds R C sums, C registers of W
 * and one of x, of 32 registers.
 *
 *   14 x 32       28 sums, 2 of W, 1 of x
 *    6 x 64       24 sums, 4 of W, 1 of x
 *    3 x 64       24 sums, 1 of W, 3 of x, of 8 columns each (Zen 4)
 *    1 x 3 x 64   12 sums, 1 of W, 1 of x: one row times a panel of each of 3 runs
 */
enum { ROWS = 14, WIDE_ROWS = 6, NARROW_ROWS = 3, STREAMS = 3 };

/* The one of its family with AVX-512. */
static bool is_zen4(void)
{
    return __builtin_cpu_is("amdfam19h");
}

/* Prefetch distance of each stream, 0: none. Prefetches cost Zen 4 a tenth of the speed where W is
 * in a cache, and win nothing in memory; Zen 5 has not been measured without. Intel's cores gain
 * from three times the distance. */
static size_t prefetch_bytes(void)
{
    return is_zen4() ? 0 : __builtin_cpu_is("amd") ? 1024 : 3072;
}

/* Sixteen weights; scale is that of their columns in a block of Q8_0. */
LANES struct v16 load_weights(const enum weight_kind kind, const void *w, size_t at,
                              struct v16 scale)
{
    if (kind == WEIGHTS_F16)
        return v_load_half((const uint16_t *)w + at);
    if (kind == WEIGHTS_F32)
        return v_load((const float *)w + at);
    if (kind == WEIGHTS_I8)
        return v_load_i8((const int8_t *)w + at);
    __m128i q = _mm_loadu_si128((const __m128i *)((const int8_t *)w + at));
    return (struct v16){_mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q)), scale.v)};
}

/* sum + x w, where the product itself reads x. */
LANES struct v16 multiply_from(const float *x, struct v16 w, struct v16 sum)
{
    __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(sum.v) : "v"(w.v), "m"(*x));
    return sum;
}

LANES void multiply_tile(const int R, const int C, const enum weight_kind kind, float *acc,
                         size_t ldacc, bool fresh, const float *x, size_t ldx, const void *w,
                         size_t ldw, int K, float *wide, struct prefetch prefetch)
{
    struct v16 sum[ROWS][4], scale[4] = {{_mm512_setzero_ps()}};
    const struct q8_panel *block = w;
    const size_t col = kind == WEIGHTS_Q8 ? ldw : 0, step = kind == WEIGHTS_Q8 ? 64 : ldw;
    size_t at = col;
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++)
            sum[r][c] = fresh ? v_set(0) : v_load(acc + r * ldacc + 16 * c);
    for (int k = 0; k < K; k++, at += step) {
        struct v16 v[4];
        if (kind == WEIGHTS_Q8 && k % Q8_BLOCK == 0) {
#pragma GCC unroll 4
            for (int c = 0; c < C; c++)
                scale[c] = v_load_half(block->d + col + 16 * c);
            w = (block++)->q;
            at = col;
        }
#pragma GCC unroll 4
        for (int c = 0; c < C; c++)
            v[c] = load_weights(kind, w, at + 16 * (size_t)c, scale[c]);
        if (prefetch.step > 0)
            prefetch_step(prefetch, k, K);
#pragma GCC unroll 16
        for (int r = 0; r < R; r++) {
            /* AMD's converts and broadcasts wait for each other: without those of every third row
             * a tile of 8 x 32 in fp16 has 1.00 of the multiply-adds and not 0.89. Without all,
             * Intel's loads would be the limit. */
            if (kind != WEIGHTS_F32 && r % 3 == 0) {
#pragma GCC unroll 4
                for (int c = 0; c < C; c++)
                    sum[r][c] = multiply_from(x + r, v[c], sum[r][c]);
                continue;
            }
            const struct v16 a = v_set(x[r]);
#pragma GCC unroll 4
            for (int c = 0; c < C; c++)
                sum[r][c] = v_fma(a, v[c], sum[r][c]);
        }
        x += ldx;
        if (wide != NULL)
#pragma GCC unroll 4
            for (int c = 0; c < C; c++, wide += 16)
                v_store(wide, v[c]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++)
            v_store(acc + r * ldacc + 16 * c, sum[r][c]);
}

/*
 * A tile of R rows by 64 columns in binary16, in registers of 8 columns. Zen 4 computes 16 lanes in
 * two halves anyway, but converts 8 in one step and 16 in four: one row has 1.6 times the speed so
 * where W is in a cache, two 1.3 and three 1.2 times.
 */
LANES void multiply_narrow(const int R, float *acc, size_t ldacc, bool fresh, const float *x,
                           size_t ldx, const uint16_t *w, size_t ldw, int K,
                           struct prefetch prefetch)
{
    __m256 sum[NARROW_ROWS][8], a[NARROW_ROWS];
#pragma GCC unroll 4
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int c = 0; c < 8; c++)
            sum[r][c] = fresh ? _mm256_setzero_ps() : _mm256_loadu_ps(acc + r * ldacc + 8 * c);
    for (int k = 0; k < K; k++, x += ldx, w += ldw) {
        if (prefetch.step > 0)
            prefetch_step(prefetch, k, K);
#pragma GCC unroll 4
        for (int r = 0; r < R; r++)
            a[r] = _mm256_broadcast_ss(x + r);
#pragma GCC unroll 8
        for (int c = 0; c < 8; c++) {
            const __m256 v = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(w + 8 * c)));
#pragma GCC unroll 4
            for (int r = 0; r < R; r++)
                sum[r][c] = _mm256_fmadd_ps(a[r], v, sum[r][c]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int c = 0; c < 8; c++)
            _mm256_storeu_ps(acc + r * ldacc + 8 * c, sum[r][c]);
}

/* The scales of the current block of each of P runs; fetch as in step_runs. */
LANES void load_scales(const int P, struct v16 scale[STREAMS][4], const char *w, size_t run,
                       size_t fetch)
{
#pragma GCC unroll 4
    for (int p = 0; p < P; p++) {
        const struct q8_panel *block = (const void *)(w + (size_t)p * run);
        if (fetch > 0) {
            _mm_prefetch((const char *)block + fetch, _MM_HINT_T1);
            _mm_prefetch((const char *)block + fetch + 64, _MM_HINT_T1);
        }
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++)
            scale[p][c] = v_load_half(block->d + 16 * c);
    }
}

/* Row k of the current panel of each of P runs; each cache line prefetches the one `fetch` bytes
 * ahead, if that is not 0. */
LANES void step_runs(const int P, const enum weight_kind kind, struct v16 sum[STREAMS][4],
                     struct v16 scale[STREAMS][4], float x, const char *w, size_t run, size_t fetch)
{
    const size_t bytes = kind == WEIGHTS_Q8 ? 64 : panel_bytes(kind, 1); /* of the row */
    struct v16 a = v_set(x);
#pragma GCC unroll 4
    for (int p = 0; p < P; p++) {
        const char *at = w + (size_t)p * run;
        for (size_t line = 0; fetch > 0 && line < bytes; line += 64)
            _mm_prefetch(at + fetch + line, _MM_HINT_T1);
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++)
            sum[p][c] = v_fma(a, load_weights(kind, at, 16 * (size_t)c, scale[p][c]), sum[p][c]);
    }
}

/*
 * One row times P runs of `panels` panels each, one run stored after another, computing a panel of
 * each run at a time: P streams keep more cache lines in flight than one, and each stream
 * continues from panel to panel.
 */
LANES void multiply_runs(const int P, const enum weight_kind kind, float *acc, const float *x,
                         const char *w, int K, int panels, const size_t fetch)
{
    const size_t bytes = kind == WEIGHTS_Q8 ? 64 : panel_bytes(kind, 1);
    const size_t run = (size_t)panels * panel_bytes(kind, K);
    const int block = kind == WEIGHTS_Q8 ? Q8_BLOCK : K;
    for (int i = 0; i < panels; i++, acc += 64) {
        struct v16 sum[STREAMS][4], scale[STREAMS][4];
#pragma GCC unroll 4
        for (int p = 0; p < P; p++)
#pragma GCC unroll 4
            for (int c = 0; c < 4; c++)
                sum[p][c] = scale[p][c] = v_set(0);
        for (int first = 0; first < K; first += block) {
            if (kind == WEIGHTS_Q8) {
                load_scales(P, scale, w, run, fetch);
                w += sizeof((struct q8_panel *)0)->d;
            }
            for (int k = first; k < first + block; k++, w += bytes)
                step_runs(P, kind, sum, scale, x[k], w, run, fetch);
        }
#pragma GCC unroll 4
        for (int p = 0; p < P; p++)
#pragma GCC unroll 4
            for (int c = 0; c < 4; c++)
                v_store(acc + 64 * p * panels + 16 * c, sum[p][c]);
    }
}

TILES_14(TILE, 1)
TILES_14(TILE, 2)
TILES_6(TILE, 4)
static tile_fn *const tiles_1[ROWS + 1][WEIGHT_KINDS] = {TILES_14(TILE_ROW, 1)};
static tile_fn *const tiles_2[ROWS + 1][WEIGHT_KINDS] = {TILES_14(TILE_ROW, 2)};
static tile_fn *const tiles_4[WIDE_ROWS + 1][WEIGHT_KINDS] = {TILES_6(TILE_ROW, 4)};

#define NARROW(R, C)                                                                               \
    static void narrow_##R(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx,       \
                           const void *w, size_t ldw, int K, float *wide,                          \
                           struct prefetch prefetch)                                               \
    {                                                                                              \
        (void)wide; /* not of so many columns */                                                   \
        multiply_narrow(R, acc, ldacc, fresh, x, ldx, w, ldw, K, prefetch);                        \
    }
TILES_3(NARROW, 64)
static tile_fn *const narrow_tiles[NARROW_ROWS + 1] = {NULL, narrow_1, narrow_2, narrow_3};

LANES int first_tile(enum weight_kind kind, float *acc, size_t ldacc, bool fresh, const float *x,
                     size_t ldx, int R, const void *w, size_t ldw, int K, int cols, float *wide,
                     struct prefetch prefetch)
{
    const int width = cols >= 64 && R <= WIDE_ROWS ? 64 : cols >= 32 ? 32 : 16;
    tile_fn *multiply = (width == 64 ? tiles_4 : width == 32 ? tiles_2 : tiles_1)[R][kind];
    if (width == 64 && kind == WEIGHTS_F16 && R <= NARROW_ROWS && is_zen4())
        multiply = narrow_tiles[R];
    multiply(acc, ldacc, fresh, x, ldx, w, ldw, K, wide, prefetch);
    return width;
}
TILE_ENTRIES

LANES void multiply_streams(const enum weight_kind kind, float *acc, const float *x, const char *w,
                            int K, int panels, const size_t fetch)
{
    const int run = panels / STREAMS, rest = panels % STREAMS;
    multiply_runs(STREAMS, kind, acc, x, w, K, run, fetch);
    acc += (size_t)(panels - rest) * 64;
    w += (size_t)(panels - rest) * panel_bytes(kind, K);
    if (rest == 2)
        multiply_runs(2, kind, acc, x, w, K, 1, fetch);
    else if (rest == 1)
        multiply_runs(1, kind, acc, x, w, K, 1, fetch);
}

LANES void multiply_panels(const enum weight_kind kind, float *acc, const float *x, const char *w,
                           int K, int panels)
{
    const size_t fetch = prefetch_bytes();
    if (fetch > 0)
        multiply_streams(kind, acc, x, w, K, panels, fetch);
    else if (kind == WEIGHTS_F16)
        for (int i = 0; i < panels; i++, acc += 64, w += panel_bytes(kind, K))
            multiply_narrow(1, acc, 0, true, x, 1, (const uint16_t *)(const void *)w, 64, K,
                            (struct prefetch){w, 0});
    else
        multiply_streams(kind, acc, x, w, K, panels, 0);
}
ROW_ENTRIES

static void pack_rows(float *packed, const float *x, size_t ldx, int R, int K)
{
    for (int k = 0; k < K; k += 16) {
        int used = K - k < 16 ? K - k : 16;
        __m512 a[16];
#pragma GCC unroll 16
        for (int r = 0; r < 16; r++)
            a[r] = r < R ? v_load_n(x + r * ldx + k, used).v : _mm512_setzero_ps();
        transpose_16x16(a);
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++)
            if (i < used)
                v_store_n(packed + (size_t)(k + i) * (size_t)R, (struct v16){a[i]}, R);
    }
}

static void pack_columns(float *strip, size_t ld, const float *w, size_t ldw, int cols, int K)
{
    for (int n = 0; n < cols; n += 16)
        for (int k = 0; k < K; k += 16) {
            int used = K - k < 16 ? K - k : 16, C = cols - n < 16 ? cols - n : 16;
            __m512 a[16];
#pragma GCC unroll 16
            for (int c = 0; c < 16; c++)
                a[c] =
                    c < C ? v_load_n(w + (size_t)(n + c) * ldw + k, used).v : _mm512_setzero_ps();
            transpose_16x16(a);
#pragma GCC unroll 16
            for (int i = 0; i < 16; i++)
                if (i < used)
                    v_store_n(strip + (size_t)(k + i) * ld + n, (struct v16){a[i]}, C);
        }
}

/* 6 x 32 in bfloat16: 12 sums of even k and 12 of odd, 2 of B, 1 of A. */
enum { BF16_ROWS = 6, BF16_REGISTERS = 2 };
#define BF16_TILES(T) TILES_6(T, BF16_REGISTERS)
#include "model/kernels/lanes_bf16.h"

static double fma_loop(long rounds)
{
    struct v16 sum[24];
    const struct v16 a = v_set(0.5f), b = v_set(1);
#pragma GCC unroll 24
    for (int i = 0; i < 24; i++)
        sum[i] = v_set((float)i);
    for (long n = 0; n < rounds; n++)
#pragma GCC unroll 24
        for (int i = 0; i < 24; i++)
            sum[i] = v_fma(sum[i], a, b);
#pragma GCC unroll 24
    for (int i = 1; i < 24; i++)
        sum[0] = v_add(sum[0], sum[i]);
    volatile float keep = v_sum(sum[0]);
    (void)keep;
    return 2.0 * 24 * 16 * (double)rounds;
}

void kernels_avx512_fill(struct kernels *k)
{
    k->name = "avx512";
    k->matrix = (struct matrix_kernels){.tile_rows = ROWS,
                                        .tile_cols = 32,
                                        .part = 384,
                                        .block_cols = 256,
                                        .wide_rows = WIDE_ROWS,
                                        .few_rows = WIDE_ROWS,
                                        .widen_tiles = __builtin_cpu_is("amd") ? 5 : 2,
                                        .hardware_prefetch = is_zen4(),
                                        .tile_f16 = tile_f16,
                                        .tile_f32 = tile_f32,
                                        .tile_q8 = tile_q8,
                                        .tile_i8 = tile_i8,
                                        .row_f16 = row_f16,
                                        .row_f32 = row_f32,
                                        .row_q8 = row_q8,
                                        .pack_rows = pack_rows,
                                        .pack_columns = pack_columns,
                                        .epilogue = epilogue_rows};
    k->bf16 = bf16_table;
    fill_lane_tables(k, 16, fma_loop);
}

#endif
