/* Plain C: the reference to which all sets are compared. */
#include "model/kernels/lanes_tables.h"

enum { ROWS = 8, COLS = 32 };

/* W in one of four forms: the pointer that is not NULL. */
struct weights {
    const float *f32;
    const uint16_t *f16;
    const int8_t *i8;
    size_t ld; /* of those three */
    const struct q8_panel *q8;
    int col; /* where the tile begins in q8 */
};

/* 16 columns of row k from column n on. */
LANES struct v16 read_weights(const struct weights *w, int k, int n)
{
    const size_t at = (size_t)k * w->ld + (size_t)n;
    if (w->f32 != NULL)
        return v_load(w->f32 + at);
    if (w->f16 != NULL)
        return v_load_half(w->f16 + at);
    if (w->i8 != NULL)
        return v_load_i8(w->i8 + at);
    const struct q8_panel *block = &w->q8[k / Q8_BLOCK];
    return v_mul(v_load_half(block->d + w->col + n),
                 v_load_i8(block->q[k % Q8_BLOCK] + w->col + n));
}

/* 16 elements of W at a time, widened once for all rows. */
LANES void multiply_tile(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                         const struct weights w, int K, int cols, float *wide)
{
    for (int n = 0; n < cols; n += LANES_N) {
        struct v16 sum[TILE_MAX_ROWS]; /* also the reference for sets with larger tiles */
        for (int r = 0; r < R; r++)
            sum[r] = fresh ? v_set(0) : v_load(acc + r * ldacc + n);
        for (int k = 0; k < K; k++) {
            const struct v16 v = read_weights(&w, k, n);
            for (int r = 0; r < R; r++)
                sum[r] = v_fma(v_set(x[(size_t)k * ldx + (size_t)r]), v, sum[r]);
            if (wide != NULL)
                v_store(wide + (size_t)k * (size_t)cols + n, v);
        }
        for (int r = 0; r < R; r++)
            v_store(acc + r * ldacc + n, sum[r]);
    }
}

static void tile_f16(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                     const uint16_t *w, size_t ldw, int K, int cols, float *wide,
                     struct prefetch prefetch)
{
    (void)prefetch;
    multiply_tile(acc, ldacc, fresh, x, ldx, R, (struct weights){.f16 = w, .ld = ldw}, K, cols,
                  wide);
}

static void tile_f32(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                     const float *w, size_t ldw, int K, int cols, float *wide,
                     struct prefetch prefetch)
{
    (void)prefetch;
    multiply_tile(acc, ldacc, fresh, x, ldx, R, (struct weights){.f32 = w, .ld = ldw}, K, cols,
                  wide);
}

static void tile_q8(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                    const struct q8_panel *w, int col, int K, int cols, float *wide,
                    struct prefetch prefetch)
{
    (void)prefetch;
    multiply_tile(acc, ldacc, fresh, x, ldx, R, (struct weights){.q8 = w, .col = col}, K, cols,
                  wide);
}

static void tile_i8(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                    const int8_t *w, size_t ldw, int K, int cols, float *wide,
                    struct prefetch prefetch)
{
    (void)prefetch;
    multiply_tile(acc, ldacc, fresh, x, ldx, R, (struct weights){.i8 = w, .ld = ldw}, K, cols,
                  wide);
}

static void row_f16(float *acc, const float *x, const uint16_t *w, int K, int panels)
{
    for (int p = 0; p < panels; p++, w += 64 * (size_t)K)
        multiply_tile(acc + 64 * p, 0, true, x, 1, 1, (struct weights){.f16 = w, .ld = 64}, K, 64,
                      NULL);
}

static void row_f32(float *acc, const float *x, const float *w, int K, int panels)
{
    for (int p = 0; p < panels; p++, w += 64 * (size_t)K)
        multiply_tile(acc + 64 * p, 0, true, x, 1, 1, (struct weights){.f32 = w, .ld = 64}, K, 64,
                      NULL);
}

static void row_q8(float *acc, const float *x, const struct q8_panel *w, int K, int panels)
{
    for (int p = 0; p < panels; p++, w += K / Q8_BLOCK)
        multiply_tile(acc + 64 * p, 0, true, x, 1, 1, (struct weights){.q8 = w}, K, 64, NULL);
}

static void pack_rows(float *packed, const float *x, size_t ldx, int R, int K)
{
    for (int k = 0; k < K; k++)
        for (int r = 0; r < R; r++)
            *packed++ = x[r * ldx + k];
}

static void pack_columns(float *strip, size_t ld, const float *w, size_t ldw, int cols, int K)
{
    for (int k = 0; k < K; k++)
        for (int n = 0; n < cols; n++)
            strip[(size_t)k * ld + (size_t)n] = w[(size_t)n * ldw + (size_t)k];
}

enum { BF16_ROWS = 2, BF16_REGISTERS = 1 };
#define BF16_TILES(T) T(1, BF16_REGISTERS) T(2, BF16_REGISTERS)
#include "model/kernels/lanes_bf16.h"

static double fma_loop(long rounds)
{
    struct v16 sum = v_set(0);
    const struct v16 a = v_set(0.5f), b = v_set(1);
    for (long i = 0; i < rounds; i++)
        sum = v_fma(sum, a, b);
    volatile float keep = v_sum(sum);
    (void)keep;
    return 2.0 * LANES_N * (double)rounds;
}

void kernels_portable_fill(struct kernels *k)
{
    k->name = "portable";
    k->matrix = (struct matrix_kernels){.tile_rows = ROWS,
                                        .tile_cols = COLS,
                                        .part = 384,
                                        .block_cols = 256,
                                        .wide_rows = ROWS,
                                        .few_rows = 1,
                                        .widen_tiles = 2,
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
    fill_lane_tables(k, 1, fma_loop);
}
