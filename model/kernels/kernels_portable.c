/* Plain C: the reference to which all sets are compared. */
#include "model/kernels/lanes_tables.h"

enum { ROWS = 8, COLS = 32 };

/* One element of W at a time, widened once for all rows. */
LANES void multiply_tile(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                         const float *w32, const uint16_t *w16, size_t ldw, int K, int cols,
                         float *wide)
{
    for (int r = 0; fresh && r < R; r++)
        memset(acc + r * ldacc, 0, (size_t)cols * sizeof *acc);
    for (int k = 0; k < K; k++)
        for (int n = 0; n < cols; n++) {
            size_t at = (size_t)k * ldw + (size_t)n;
            float w = w32 != NULL ? w32[at] : half_to_f32(w16[at]);
            for (int r = 0; r < R; r++)
                acc[r * ldacc + n] = fmaf(x[(size_t)k * ldx + (size_t)r], w, acc[r * ldacc + n]);
            if (wide != NULL)
                *wide++ = w;
        }
}

static void tile_f16(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                     const uint16_t *w, size_t ldw, int K, int cols, float *wide,
                     struct prefetch prefetch)
{
    (void)prefetch;
    multiply_tile(acc, ldacc, fresh, x, ldx, R, NULL, w, ldw, K, cols, wide);
}

static void tile_f32(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                     const float *w, size_t ldw, int K, int cols, float *wide,
                     struct prefetch prefetch)
{
    (void)prefetch;
    multiply_tile(acc, ldacc, fresh, x, ldx, R, w, NULL, ldw, K, cols, wide);
}

static void row_f16(float *acc, const float *x, const uint16_t *w, int K, int panels)
{
    for (int p = 0; p < panels; p++)
        multiply_tile(acc + 64 * p, 0, true, x, 1, 1, NULL, w + 64 * (size_t)p * (size_t)K, 64, K,
                      64, NULL);
}

static void row_f32(float *acc, const float *x, const float *w, int K, int panels)
{
    for (int p = 0; p < panels; p++)
        multiply_tile(acc + 64 * p, 0, true, x, 1, 1, w + 64 * (size_t)p * (size_t)K, NULL, 64, K,
                      64, NULL);
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
                                        .wide_rows = ROWS,
                                        .few_rows = 1,
                                        .tile_f16 = tile_f16,
                                        .tile_f32 = tile_f32,
                                        .row_f16 = row_f16,
                                        .row_f32 = row_f32,
                                        .pack_rows = pack_rows,
                                        .pack_columns = pack_columns,
                                        .epilogue = epilogue_rows};
    fill_lane_tables(k, 1, fma_loop);
}
