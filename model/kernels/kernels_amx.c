#include "model/kernels/kernels_tables.h"

#ifdef KERNELS_X86

#include "model/kernels/transpose_avx512.h"

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A tile register has 16 rows of 64 bytes. A packed row tile is, for each group of 32 of k, two
 * tiles of 16 rows of 32 bfloat16; a strip is two tiles of 16 pairs of k, each 16 columns wide.
 * Registers: 0 to 3 sums, 4 and 5 rows, 6 and 7 columns.
 */
enum { ROWS = 32, COLS = 32, TILE = 512 /* bfloat16 of a tile */, GROUP = 2 * TILE };

/* The layout that ldtilecfg reads. */
struct tile_config {
    uint8_t palette, start_row, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
static const struct tile_config eight_whole = {
    .palette = 1,
    .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
    .rows = {16, 16, 16, 16, 16, 16, 16, 16},
};

bool kernels_amx_request(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA) == 0;
}

LANES __mmask16 first_n(int n)
{
    return (__mmask16)(n >= 16 ? 0xffff : n <= 0 ? 0 : (1 << n) - 1);
}

/* alpha x, the first n of 16 floats, then zeros. */
LANES __m512 load_n(const float *x, int n, __m512 alpha)
{
    return _mm512_mul_ps(_mm512_maskz_loadu_ps(first_n(n), x), alpha);
}

/* 32 elements of a row, of which there are n. */
LANES __m512 round_row(const float *x, int n, __m512 alpha)
{
    return (__m512)_mm512_cvtne2ps_pbh(load_n(x + 16, n - 16, alpha), load_n(x, n, alpha));
}

/* 16 pairs of elements, one of each of two rows. */
LANES __m512 round_pairs(__m512 even, __m512 odd)
{
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return (__m512)_mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

/* Rows k .. k + 31 of [K,.], 16 columns from x on of which there are n, as 16 rows of pairs. */
LANES void load_pairs(__m512 pairs[16], const float *x, size_t ld, int k, int K, int n,
                      __m512 alpha)
{
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        const float *row = x + (size_t)(k + 2 * i) * ld;
        pairs[i] = round_pairs(load_n(row, k + 2 * i < K ? n : 0, alpha),
                               load_n(row + ld, k + 2 * i + 1 < K ? n : 0, alpha));
    }
}

/* Rows of [n,K] from x on, n up to 16, elements k .. k + 31 of each. */
LANES void load_rows(__m512 rows[16], const float *x, size_t ld, int k, int K, int n, __m512 alpha)
{
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        rows[i] = i < n ? round_row(x + (size_t)i * ld + k, K - k, alpha) : _mm512_setzero_ps();
}

LANES void store_tile(uint16_t *tile, __m512 rows[16])
{
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        _mm512_storeu_ps(tile + 32 * i, rows[i]);
}

static void pack_a(void *packed, const float *a, size_t lda, bool transposed, float alpha, int R,
                   int K)
{
    const __m512 by = _mm512_set1_ps(alpha);
    for (int half = 0; half < 2 && 16 * half < R; half++) {
        const float *from = a + (transposed ? 16 : 16 * lda) * (size_t)half;
        uint16_t *tile = (uint16_t *)packed + TILE * half;
        for (int k = 0; k < K; k += BF16_GROUP, tile += GROUP) {
            __m512 rows[16];
            if (transposed) {
                load_pairs(rows, from, lda, k, K, R - 16 * half, by);
                transpose_16x16(rows);
            } else {
                load_rows(rows, from, lda, k, K, R - 16 * half, by);
            }
            store_tile(tile, rows);
        }
    }
}

static void pack_b(void *strips, const float *b, size_t ldb, bool transposed, int cols, int K)
{
    const __m512 one = _mm512_set1_ps(1);
    const size_t strip = (size_t)bf16_filled(K) * COLS;
    for (int k = 0; k < K; k += BF16_GROUP)
        for (int col = 0; col < (cols + COLS - 1) / COLS * COLS; col += 16) {
            __m512 rows[16];
            if (transposed) {
                load_rows(rows, b + (size_t)(col < cols ? col : 0) * ldb, ldb, k, K, cols - col,
                          one);
                transpose_16x16(rows);
            } else {
                load_pairs(rows, b + (col < cols ? col : 0), ldb, k, K, cols - col, one);
            }
            store_tile((uint16_t *)strips + (size_t)(col / COLS) * strip +
                           (size_t)(k / BF16_GROUP) * GROUP + (size_t)(col % COLS / 16) * TILE,
                       rows);
        }
}

/* The compiler does not know that tile instructions read memory. */
LANES void finish_stores(void)
{
    __asm__ volatile("" ::: "memory");
}

/* The sums of 32 rows and 32 columns go on, K in whole groups. */
LANES void multiply_whole(float *acc, size_t ldacc, bool fresh, const uint16_t *a,
                          const uint16_t *b, int K)
{
    const size_t row = ldacc * sizeof *acc;
    finish_stores();
    if (fresh) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, acc, row);
        _tile_loadd(1, acc + 16, row);
        _tile_loadd(2, acc + 16 * ldacc, row);
        _tile_loadd(3, acc + 16 * ldacc + 16, row);
    }
    for (int k = 0; k < K; k += BF16_GROUP, a += GROUP, b += GROUP) {
        _tile_loadd(4, a, 64);
        _tile_loadd(6, b, 64);
        _tile_loadd(7, b + TILE, 64);
        _tile_loadd(5, a + TILE, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, acc, row);
    _tile_stored(1, acc + 16, row);
    _tile_stored(2, acc + 16 * ldacc, row);
    _tile_stored(3, acc + 16 * ldacc + 16, row);
}

/* The sums of the next strip, or of the next row tile, while this one is computed. */
LANES void prefetch_sums(const float *acc, size_t ldacc)
{
    for (int r = 0; r < ROWS; r++) {
        __builtin_prefetch(acc + (size_t)r * ldacc, 1);
        __builtin_prefetch(acc + (size_t)r * ldacc + 16, 1);
    }
}

static void copy_sums(float *to, size_t ldto, const float *from, size_t ldfrom, int R, int cols)
{
    for (int r = 0; r < R; r++)
        memcpy(to + (size_t)r * ldto, from + (size_t)r * ldfrom, (size_t)cols * sizeof *to);
}

static void multiply(float *acc, size_t ldacc, bool fresh, const void *packed, int R,
                     const void *strips, int cols, int K)
{
    float edge[ROWS * COLS] = {0};
    const int filled = bf16_filled(K);
    const uint16_t *b = strips;
    _tile_loadconfig(&eight_whole);
    for (int col = 0; col < cols; col += COLS, b += (size_t)filled * COLS) {
        const int used = cols - col < COLS ? cols - col : COLS;
        if (R == ROWS && used == COLS) {
            if (cols - col >= 2 * COLS)
                prefetch_sums(acc + col + COLS, ldacc);
            multiply_whole(acc + col, ldacc, fresh, packed, b, filled);
            continue;
        }
        if (!fresh)
            copy_sums(edge, COLS, acc + col, ldacc, R, used);
        multiply_whole(edge, COLS, fresh, packed, b, filled);
        copy_sums(acc + col, ldacc, edge, COLS, R, used);
    }
    _tile_release();
}

void kernels_amx_fill(struct kernels *k)
{
    k->name = "amx";
    k->bf16 = (struct bf16_kernels){.tile_rows = ROWS,
                                    .tile_cols = COLS,
                                    .element = sizeof(uint16_t),
                                    .pack_a = pack_a,
                                    .pack_b = pack_b,
                                    .multiply = multiply};
}

#endif
