#include "model/kernels/kernels_tables.h"

#ifdef KERNELS_X86

#define LANES_AVX2
#include "model/kernels/lanes_tables.h"
#include "model/kernels/tiles.h"

/*
 * Register plan: a tile of R rows by C registers of 8 columns holds R C sums, of 16 registers.
 *
 *   6 x 16        12 sums, 2 of W, 1 of x
 *   3 x 32        12 sums, 3 of x, 1 of W
 *   1 x 64         8 sums, 1 of x, 1 of W
 *
 * An instruction more in a step is felt there, most of all where the other thread of the core has
 * half of them: so steps come in fours, with nothing beside them that a tile does not need.
 */
enum { ROWS = 6, MID_ROWS = 3, STEPS = 4 };
enum { STRIDE = 64 }; /* floats between the rows of x in STRIDED: weights of a block of keys */
/* What a tile does beside its sums: nothing; prefetch twice in STEPS steps, or twice in each; the
 * first and keep W in fp32. They take rows of x that follow each other (ldx == R). STRIDED has
 * ldx == STRIDE, W in fp32 and no prefetches. REST takes any x, and is also what is left of less
 * than STEPS steps. */
enum beside { PLAIN, SPARSE, DENSE, WIDEN, STRIDED, REST };

/* Eight weights; scale is that of their columns in a block of Q8_0. */
LANES __m256 load_weights(const enum weight_kind kind, const void *w, size_t at, __m256 scale)
{
    if (kind == WEIGHTS_F16)
        return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)((const uint16_t *)w + at)));
    if (kind == WEIGHTS_F32)
        return _mm256_loadu_ps((const float *)w + at);
    if (kind == WEIGHTS_I8)
        return v_load_i8_8((const int8_t *)w + at);
    __m256i q = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)((const int8_t *)w + at)));
    return _mm256_mul_ps(_mm256_cvtepi32_ps(q), scale);
}

/* sum += a b in place: of its own accord GCC moves sums from register to register. */
LANES void add_product(__m256 *sum, __m256 a, __m256 b)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*sum) : "x"(a), "x"(b));
}

/* W in registers, x one element at a time. */
LANES void step_many_rows(const int R, const enum weight_kind kind, __m256 sum[ROWS][8],
                          const float *x, const void *w, size_t at, const __m256 scale[8],
                          float *wide)
{
    __m256 v0 = load_weights(kind, w, at, scale[0]);
    __m256 v1 = load_weights(kind, w, at + 8, scale[1]);
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) {
        __m256 a = _mm256_broadcast_ss(x + r);
        add_product(&sum[r][0], a, v0);
        add_product(&sum[r][1], a, v1);
    }
    if (wide != NULL) {
        _mm256_storeu_ps(wide, v0);
        _mm256_storeu_ps(wide + 8, v1);
    }
}

/* x in registers, W one register at a time. */
LANES void step_few_rows(const int R, const int C, const enum weight_kind kind, __m256 sum[ROWS][8],
                         const float *x, const void *w, size_t at, const __m256 scale[8])
{
    __m256 a[ROWS];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
        a[r] = _mm256_broadcast_ss(x + r);
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) {
        __m256 v = load_weights(kind, w, at + 8 * (size_t)c, scale[c]);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
            add_product(&sum[r][c], a[r], v);
    }
}

/* The scales of the columns from col on. */
LANES void load_scales(const int C, __m256 scale[8], const struct q8_panel *block, size_t col)
{
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) {
        __m128i d = _mm_loadu_si128((const __m128i *)(block->d + col + 8 * c));
        scale[c] = _mm256_cvtph_ps(d);
    }
}

LANES void fetch_next(const char *fetch[2], size_t bytes)
{
    for (int i = 0; i < 2; i++) {
        _mm_prefetch(fetch[i], _MM_HINT_T1);
        fetch[i] += bytes;
    }
}

LANES void multiply_steps(const int R, const int C, const enum weight_kind kind,
                          const enum beside beside, __m256 sum[ROWS][8], const float *x, size_t ldx,
                          const void *w, size_t ldw, int K, float *wide, struct prefetch prefetch)
{
    /* Two streams keep more cache lines in flight than one. */
    const char *fetch[2] = {prefetch.at, (const char *)prefetch.at + (size_t)K * prefetch.step / 2};
    const struct q8_panel *block = w;
    const size_t col = kind == WEIGHTS_Q8 ? ldw : 0, step = kind == WEIGHTS_Q8 ? 64 : ldw;
    const int n = kind == WEIGHTS_Q8 ? Q8_BLOCK : K, steps = beside == REST ? 1 : STEPS;
    __m256 scale[8] = {_mm256_setzero_ps()};
    for (int first = 0; first < K; first += n) {
        size_t at = col;
        if (kind == WEIGHTS_Q8) {
            load_scales(C, scale, block, col);
            w = (block++)->q;
        }
        for (int k = 0; k < n; k += steps, x += steps * ldx) {
            if (beside == SPARSE || beside == WIDEN)
                fetch_next(fetch, STEPS * prefetch.step / 2);
#pragma GCC unroll 8
            for (int i = 0; i < steps; i++, at += step) {
                if (beside == DENSE)
                    fetch_next(fetch, prefetch.step / 2);
                if (C == 2)
                    step_many_rows(R, kind, sum, x + i * ldx, w, at, scale, wide);
                else
                    step_few_rows(R, C, kind, sum, x + i * ldx, w, at, scale);
                if (wide != NULL)
                    wide += 16;
            }
        }
    }
}

LANES void multiply_tile(const int R, const int C, const enum weight_kind kind,
                         const enum beside beside, float *acc, size_t ldacc, bool fresh,
                         const float *x, size_t ldx, const void *w, size_t ldw, int K, float *wide,
                         struct prefetch prefetch)
{
    __m256 sum[ROWS][8];
    if (beside == WIDEN && wide == NULL)
        __builtin_unreachable(); /* so it is not asked in every step */
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int c = 0; c < C; c++)
            sum[r][c] = fresh ? _mm256_setzero_ps() : _mm256_loadu_ps(acc + r * ldacc + 8 * c);
    if (beside != REST) /* so it is known when this is compiled */
        ldx = beside == STRIDED ? STRIDE : (size_t)R;
    multiply_steps(R, C, kind, beside, sum, x, ldx, w, ldw, K, beside == WIDEN ? wide : NULL,
                   prefetch);
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int c = 0; c < C; c++)
            _mm256_storeu_ps(acc + r * ldacc + 8 * c, sum[r][c]);
}

/* Each is a function of its own, whose loop has the registers to itself. */
#define MULTIPLY(name, beside)                                                                     \
    LANES void multiply_##name(const int R, const int C, const enum weight_kind kind, float *acc,  \
                               size_t ldacc, bool fresh, const float *x, size_t ldx,               \
                               const void *w, size_t ldw, int K, float *wide,                      \
                               struct prefetch prefetch)                                           \
    {                                                                                              \
        multiply_tile(R, C, kind, beside, acc, ldacc, fresh, x, ldx, w, ldw, K, wide, prefetch);   \
    }
MULTIPLY(plain, PLAIN)
MULTIPLY(sparse, SPARSE)
MULTIPLY(dense, DENSE)
MULTIPLY(widen, WIDEN)
MULTIPLY(strided, STRIDED)
MULTIPLY(rest, REST)
#define PLAIN_TILE(R, C) TILES_OF(plain, multiply_plain, R, C)
#define SPARSE_TILE(R, C) TILES_OF(sparse, multiply_sparse, R, C)
#define DENSE_TILE(R, C) TILES_OF(dense, multiply_dense, R, C)
#define WIDEN_TILE(R, C) TILES_OF(widen, multiply_widen, R, C)
#define STRIDED_TILE(R, C) TILE_OF(strided_f32, WEIGHTS_F32, multiply_strided, R, C)
#define REST_TILE(R, C) TILES_OF(rest, multiply_rest, R, C)
TILES_6(PLAIN_TILE, 2)
TILES_6(SPARSE_TILE, 2)
TILES_6(DENSE_TILE, 2)
TILES_6(WIDEN_TILE, 2)
TILES_6(STRIDED_TILE, 2)
TILES_6(REST_TILE, 2)
TILES_3(PLAIN_TILE, 4)
TILES_3(DENSE_TILE, 4)
TILES_3(STRIDED_TILE, 4)
TILES_3(REST_TILE, 4)
#define PLAIN_ROW(R, C) TILE_ROW_OF(plain, R, C)
#define SPARSE_ROW(R, C) TILE_ROW_OF(sparse, R, C)
#define DENSE_ROW(R, C) TILE_ROW_OF(dense, R, C)
#define WIDEN_ROW(R, C) TILE_ROW_OF(widen, R, C)
#define STRIDED_ROW(R, C) [R] = {[WEIGHTS_F32] = strided_f32_##R##_##C},
#define REST_ROW(R, C) TILE_ROW_OF(rest, R, C)
static tile_fn *const tiles_2[][ROWS + 1][WEIGHT_KINDS] = {
    [PLAIN] = {TILES_6(PLAIN_ROW, 2)},     [SPARSE] = {TILES_6(SPARSE_ROW, 2)},
    [DENSE] = {TILES_6(DENSE_ROW, 2)},     [WIDEN] = {TILES_6(WIDEN_ROW, 2)},
    [STRIDED] = {TILES_6(STRIDED_ROW, 2)}, [REST] = {TILES_6(REST_ROW, 2)},
};
static tile_fn *const tiles_4[][MID_ROWS + 1][WEIGHT_KINDS] = {
    [PLAIN] = {TILES_3(PLAIN_ROW, 4)}, [SPARSE] = {TILES_3(DENSE_ROW, 4)},
    [DENSE] = {TILES_3(DENSE_ROW, 4)}, [STRIDED] = {TILES_3(STRIDED_ROW, 4)},
    [REST] = {TILES_3(REST_ROW, 4)},
};

LANES tile_fn *tile_of(enum weight_kind kind, enum beside beside, int R, int width)
{
    return width == 32 ? tiles_4[beside][R][kind] : tiles_2[beside][R][kind];
}

/* wide [K,16] = W in fp32, for steps that do not keep it. */
LANES void widen_rows(enum weight_kind kind, const void *w, size_t ldw, int K, float *wide)
{
    const struct q8_panel *block = w;
    __m256 scale[8] = {_mm256_setzero_ps()};
    for (int k = 0; k < K; k++, wide += 16) {
        const bool q8 = kind == WEIGHTS_Q8;
        if (q8)
            load_scales(2, scale, block + k / Q8_BLOCK, ldw);
        const void *from = q8 ? block[k / Q8_BLOCK].q[k % Q8_BLOCK] : w;
        const size_t at = q8 ? ldw : (size_t)k * ldw;
        _mm256_storeu_ps(wide, load_weights(kind, from, at, scale[0]));
        _mm256_storeu_ps(wide + 8, load_weights(kind, from, at + 8, scale[1]));
    }
}

LANES int first_tile(enum weight_kind kind, float *acc, size_t ldacc, bool fresh, const float *x,
                     size_t ldx, int R, const void *w, size_t ldw, int K, int cols, float *wide,
                     struct prefetch prefetch)
{
    const int width = cols >= 32 && R <= MID_ROWS && wide == NULL ? 32 : 16;
    const size_t element = kind == WEIGHTS_F32 ? 4 : kind == WEIGHTS_F16 ? 2 : 1;
    const bool strided = kind == WEIGHTS_F32 && ldx == STRIDE && wide == NULL;
    const int whole = strided || ldx == (size_t)R ? K / STEPS * STEPS : 0;
    enum beside beside = wide != NULL ? WIDEN : strided ? STRIDED : PLAIN;
    if (beside == PLAIN && prefetch.step > 0)
        beside = prefetch.step * STEPS / 2 <= 64 ? SPARSE : DENSE;
    if (whole > 0)
        tile_of(kind, beside, R, width)(acc, ldacc, fresh, x, ldx, w, ldw, whole, wide, prefetch);
    if (whole == K && K > 0)
        return width;
    w = (const char *)w + (size_t)whole * ldw * element; /* of Q8_0, which has whole blocks: w */
    tile_of(kind, REST, R, width)(acc, ldacc, fresh && whole == 0, x + whole * ldx, ldx, w, ldw,
                                  K - whole, NULL, (struct prefetch){w, 0});
    if (wide != NULL)
        widen_rows(kind, w, ldw, K - whole, wide + whole * 16);
    return width;
}
TILE_ENTRIES

/* Zen 4 and Zen 3. */
static bool hardware_prefetch(void)
{
    return __builtin_cpu_is("amdfam19h");
}

/* Some rows of a panel, whole blocks of Q8_0, times one row of x: a tile of 1 x 64. They are
 * prefetched `ahead` bytes before their use into the first-level cache, not where it is 0; and
 * where `streams` is set, as many bytes from `next` on in two streams into the second level. */
LANES void multiply_panel(const enum weight_kind kind, float *acc, bool fresh, const float *x,
                          const char *w, int rows, const size_t ahead, const bool streams,
                          const char *next)
{
    const size_t line = kind == WEIGHTS_Q8 ? 64 : panel_bytes(kind, 1); /* of a row of a panel */
    const size_t half = (line + 127) / 128 * 64; /* of a row, in whole cache lines */
    const char *next_2 = next + panel_bytes(kind, rows) / 2;
    const int n = kind == WEIGHTS_Q8 ? Q8_BLOCK : rows;
    __m256 sum[ROWS][8], scale[8] = {_mm256_setzero_ps()};
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++)
        sum[0][c] = fresh ? _mm256_setzero_ps() : _mm256_loadu_ps(acc + 8 * c);
    for (int first = 0; first < rows; first += n) {
        if (kind == WEIGHTS_Q8) {
            load_scales(8, scale, (const struct q8_panel *)(const void *)w, 0);
            for (size_t i = 0; ahead > 0 && i < sizeof((struct q8_panel *)0)->d; i += 64)
                _mm_prefetch(w + ahead + i, _MM_HINT_T0);
            w += sizeof((struct q8_panel *)0)->d;
        }
#pragma GCC unroll 4
        for (int k = first; k < first + n; k++, w += line) {
            for (size_t i = 0; ahead > 0 && i < line; i += 64)
                _mm_prefetch(w + ahead + i, _MM_HINT_T0);
            for (size_t i = 0; streams && i < half; i += 64) {
                _mm_prefetch(next + i, _MM_HINT_T1);
                _mm_prefetch(next_2 + i, _MM_HINT_T1);
            }
            next += line / 2;
            next_2 += line / 2;
            step_few_rows(1, 8, kind, sum, x + k, w, 0, scale);
        }
    }
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++)
        _mm256_storeu_ps(acc + 8 * c, sum[0][c]);
}

/* One row times panels, not of Q8_0: TURNS of them in turns, 1 KiB of each, since a processor
 * that prefetches by itself keeps more cache lines under way in several streams. */
LANES void multiply_turns(const enum weight_kind kind, float *acc, const float *x, const char *w,
                          int K, int panels)
{
    enum { TURNS = 3, TURN_BYTES = 1024 };
    const size_t whole = panel_bytes(kind, K), line = panel_bytes(kind, 1);
    const int turn = TURN_BYTES / (int)line;
    for (int done = 0; done < panels; done += TURNS)
        for (int k = 0; k < K; k += turn)
            for (int p = done; p < panels && p < done + TURNS; p++)
                multiply_panel(kind, acc + 64 * p, k == 0, x + k,
                               w + (size_t)p * whole + (size_t)k * line,
                               K - k < turn ? K - k : turn, 0, false, w);
}

/* Q8_0 takes so many instructions to widen that few lines are under way without prefetches; and
 * with them, it needs no turns. */
LANES void multiply_panels(const enum weight_kind kind, float *acc, const float *x, const char *w,
                           int K, int panels)
{
    enum { AHEAD = 1024, AHEAD_Q8 = 4096 };
    const size_t whole = panel_bytes(kind, K);
    if (__builtin_cpu_is("znver3") && kind != WEIGHTS_Q8) {
        multiply_turns(kind, acc, x, w, K, panels);
        return;
    }
    for (int p = 0; p < panels; p++, acc += 64, w += whole)
        if (hardware_prefetch())
            multiply_panel(kind, acc, true, x, w, K, AHEAD_Q8, false, w);
        else
            multiply_panel(kind, acc, true, x, w, K, AHEAD, true, w + whole);
}
ROW_ENTRIES

/* First pairs of rows, then pairs of pairs within 128 bits, then the 128-bit halves. */
LANES void transpose_8x8(__m256 a[8])
{
    __m256 b[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i += 4) {
        __m256 lo0 = _mm256_unpacklo_ps(a[i], a[i + 1]), hi0 = _mm256_unpackhi_ps(a[i], a[i + 1]);
        __m256 lo1 = _mm256_unpacklo_ps(a[i + 2], a[i + 3]);
        __m256 hi1 = _mm256_unpackhi_ps(a[i + 2], a[i + 3]);
        b[i] = _mm256_shuffle_ps(lo0, lo1, 0x44);
        b[i + 1] = _mm256_shuffle_ps(lo0, lo1, 0xee);
        b[i + 2] = _mm256_shuffle_ps(hi0, hi1, 0x44);
        b[i + 3] = _mm256_shuffle_ps(hi0, hi1, 0xee);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 4; i++) {
        a[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
        a[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
    }
}

/* out [k,C], ld floats from row to row, is the transpose of w [C,k], k and C at most 8. Stores with
 * a mask take as long as ten without on Zen 3, so all 8 columns are written where that is allowed.
 */
LANES void transpose_block(float *out, size_t ld, const float *w, size_t ldw, int C, int k,
                           bool all_columns)
{
    const __m256i rows = v_mask8(k), columns = v_mask8(C);
    __m256 a[8];
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++)
        a[c] = c < C ? _mm256_maskload_ps(w + c * ldw, rows) : _mm256_setzero_ps();
    transpose_8x8(a);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        if (i < k && all_columns)
            _mm256_storeu_ps(out + i * ld, a[i]);
        else if (i < k)
            _mm256_maskstore_ps(out + i * ld, columns, a[i]);
}

static void pack_rows(float *packed, const float *x, size_t ldx, int R, int K)
{
    int k = 0;
    /* What is written beyond R columns is overwritten by the next rows. */
    for (; (K - k - 7) * R >= 8; k += 8)
        transpose_block(packed + k * R, (size_t)R, x + k, ldx, R, 8, true);
    for (; k < K; k += 8)
        transpose_block(packed + k * R, (size_t)R, x + k, ldx, R, K - k < 8 ? K - k : 8, false);
}

static void pack_columns(float *strip, size_t ld, const float *w, size_t ldw, int cols, int K)
{
    for (int n = 0; n < cols; n += 8) {
        const int C = cols - n < 8 ? cols - n : 8;
        for (int k = 0; k < K; k += 8)
            transpose_block(strip + (size_t)k * ld + n, ld, w + (size_t)n * ldw + k, ldw, C,
                            K - k < 8 ? K - k : 8, C == 8);
    }
}

/* 3 x 16 in bfloat16: 6 sums of even k and 6 of odd, 2 of B, 1 of A. */
enum { BF16_ROWS = 3, BF16_REGISTERS = 1 };
#define BF16_TILES(T) TILES_3(T, BF16_REGISTERS)
#include "model/kernels/lanes_bf16.h"

static double fma_loop(long rounds)
{
    __m256 sum[12];
    const __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(1);
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++)
        sum[i] = _mm256_set1_ps((float)i);
    for (long n = 0; n < rounds; n++)
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++)
            sum[i] = _mm256_fmadd_ps(sum[i], a, b);
#pragma GCC unroll 12
    for (int i = 1; i < 12; i++)
        sum[0] = _mm256_add_ps(sum[0], sum[i]);
    volatile float keep = _mm256_cvtss_f32(sum[0]);
    (void)keep;
    return 2.0 * 12 * 8 * (double)rounds;
}

void kernels_avx2_fill(struct kernels *k)
{
    v_fill_places();
    k->name = "avx2";
    k->matrix = (struct matrix_kernels){.tile_rows = ROWS,
                                        .tile_cols = 16,
                                        .part = 768,
                                        .block_cols = 64,
                                        .wide_rows = MID_ROWS,
                                        .few_rows = ROWS,
                                        .widen_tiles = __builtin_cpu_is("amd") ? 7 : 2,
                                        .hardware_prefetch = hardware_prefetch(),
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
    fill_lane_tables(k, 8, fma_loop);
}

#endif
