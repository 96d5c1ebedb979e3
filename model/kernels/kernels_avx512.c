#include "model/kernels/kernels_tables.h"

#ifdef KERNELS_X86

#define LANES_AVX512
#include "model/kernels/vector.h"

/*
 * Register plan of 32: a tile of R rows by 16 C columns holds R C sums, C registers of
 * w and one of x. 14 x 32: 28 + 2 + 1. 6 x 64: 24 + 4 + 1.
 */
enum { ROWS = 14, WIDE_ROWS = 6 };

LANES void tile(const int R, const int C, const bool half, float *acc, size_t ldacc, bool fresh,
                const float *x, const void *w, size_t ldw, int K, const char *ahead)
{
    v16 sum[ROWS][4];
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++)
            sum[r][c] = fresh ? v_set(0) : v_load(acc + r * ldacc + 16 * c);
    const uint16_t *w16 = w;
    const float *w32 = w;
    size_t fetch = ahead == NULL ? 0 : 128; /* without one, some line that is there anyway */
    if (ahead == NULL)
        ahead = (const char *)x;
    for (int k = 0; k < K; k++) {
        v16 v[4];
#pragma GCC unroll 4
        for (int c = 0; c < C; c++)
            v[c] = half ? v_load_half(w16 + 16 * c) : v_load(w32 + 16 * c);
        _mm_prefetch(ahead, _MM_HINT_T0);
        _mm_prefetch(ahead + 64, _MM_HINT_T0);
#pragma GCC unroll 16
        for (int r = 0; r < R; r++) {
            v16 a = v_set(x[r]);
#pragma GCC unroll 4
            for (int c = 0; c < C; c++)
                sum[r][c] = v_fma(a, v[c], sum[r][c]);
        }
        x += R;
        w16 += ldw;
        w32 += ldw;
        ahead += fetch;
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++)
            v_store(acc + r * ldacc + 16 * c, sum[r][c]);
}

typedef void tile_fn(float *acc, size_t ldacc, bool fresh, const float *x, const void *w,
                     size_t ldw, int K, const char *ahead);

#define TILE(R, C)                                                                                 \
    static void tile_f16_##R##_##C(float *acc, size_t ldacc, bool fresh, const float *x,           \
                                   const void *w, size_t ldw, int K, const char *ahead)            \
    {                                                                                              \
        tile(R, C, true, acc, ldacc, fresh, x, w, ldw, K, ahead);                                  \
    }                                                                                              \
    static void tile_f32_##R##_##C(float *acc, size_t ldacc, bool fresh, const float *x,           \
                                   const void *w, size_t ldw, int K, const char *ahead)            \
    {                                                                                              \
        tile(R, C, false, acc, ldacc, fresh, x, w, ldw, K, ahead);                                 \
    }
/* The rows of each width; TILES_n(T, C) lists T(1, C) .. T(n, C). */
#define TILES_6(T, C) T(1, C) T(2, C) T(3, C) T(4, C) T(5, C) T(6, C)
#define TILES_14(T, C)                                                                             \
    TILES_6(T, C)                                                                                  \
    T(7, C) T(8, C) T(9, C) T(10, C) T(11, C) T(12, C) T(13, C) T(14, C)
TILES_14(TILE, 1)
TILES_14(TILE, 2)
TILES_6(TILE, 4)

#define TILE_ROW(R, C) [R] = {tile_f16_##R##_##C, tile_f32_##R##_##C},
static tile_fn *const tiles_1[ROWS + 1][2] = {TILES_14(TILE_ROW, 1)};
static tile_fn *const tiles_2[ROWS + 1][2] = {TILES_14(TILE_ROW, 2)};
static tile_fn *const tiles_4[WIDE_ROWS + 1][2] = {TILES_6(TILE_ROW, 4)};

LANES void tiles(const int kind, float *acc, size_t ldacc, bool fresh, const float *x, int R,
                 const char *w, size_t ldw, int K, int cols, const void *ahead)
{
    const size_t element = kind == 0 ? 2 : 4;
    for (int col = 0; col < cols;) {
        int left = cols - col, wide = left >= 64 && R <= WIDE_ROWS ? 64 : left >= 32 ? 32 : 16;
        tile_fn *fn = wide == 64   ? tiles_4[R][kind]
                      : wide == 32 ? tiles_2[R][kind]
                                   : tiles_1[R][kind];
        fn(acc + col, ldacc, fresh, x, w + (size_t)col * element, ldw, K, ahead);
        ahead = NULL;
        col += wide;
    }
}

static void tile_f16(float *acc, size_t ldacc, bool fresh, const float *x, int R, const uint16_t *w,
                     size_t ldw, int K, int cols, const void *ahead)
{
    tiles(0, acc, ldacc, fresh, x, R, (const char *)w, ldw, K, cols, ahead);
}

static void tile_f32(float *acc, size_t ldacc, bool fresh, const float *x, int R, const float *w,
                     size_t ldw, int K, int cols, const void *ahead)
{
    tiles(1, acc, ldacc, fresh, x, R, (const char *)w, ldw, K, cols, ahead);
}

/* Transposes 16 x 16: pairs, then pairs of pairs within 128 bits, then across. */
LANES void transpose(__m512 a[16])
{
    __m512 b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 4) {
        __m512d p = _mm512_castps_pd(b[i]), q = _mm512_castps_pd(b[i + 2]);
        __m512d s = _mm512_castps_pd(b[i + 1]), t = _mm512_castps_pd(b[i + 3]);
        a[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(p, q));
        a[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(p, q));
        a[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(s, t));
        a[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(s, t));
    }
    /* a[4 g + j]: in 128-bit part p, column 4 p + j of rows 4 g .. 4 g + 3 */
#pragma GCC unroll 16
    for (int j = 0; j < 4; j++) {
        __m512 even01 = _mm512_shuffle_f32x4(a[j], a[4 + j], 0x88);
        __m512 odd01 = _mm512_shuffle_f32x4(a[j], a[4 + j], 0xdd);
        __m512 even23 = _mm512_shuffle_f32x4(a[8 + j], a[12 + j], 0x88);
        __m512 odd23 = _mm512_shuffle_f32x4(a[8 + j], a[12 + j], 0xdd);
        b[j] = _mm512_shuffle_f32x4(even01, even23, 0x88);
        b[8 + j] = _mm512_shuffle_f32x4(even01, even23, 0xdd);
        b[4 + j] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
        b[12 + j] = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        a[i] = b[i];
}

static void pack(float *packed, const float *x, size_t ldx, int R, int K)
{
    for (int k = 0; k < K; k += 16) {
        int used = K - k < 16 ? K - k : 16;
        __m512 a[16];
#pragma GCC unroll 16
        for (int r = 0; r < 16; r++)
            a[r] = r < R ? v_load_n(x + r * ldx + k, used) : v_set(0);
        transpose(a);
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++)
            if (i < used)
                v_store_n(packed + (size_t)(k + i) * (size_t)R, a[i], R);
    }
}

static double burn(long rounds)
{
    v16 sum[24];
    const v16 a = v_set(0.5f), b = v_set(1);
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

const struct kernels kernels_avx512 = {.name = "avx512",
                                       .lanes = 16,
                                       .tile_rows = ROWS,
                                       .tile_cols = 32,
                                       .wide_rows = WIDE_ROWS,
                                       .tile_f16 = tile_f16,
                                       .tile_f32 = tile_f32,
                                       .pack = pack,
                                       .burn = burn,
                                       VECTOR_KERNELS};

#endif
