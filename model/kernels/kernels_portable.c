/* Plain C: the definition of right. */
#include "model/kernels/kernels_tables.h"
#include "model/kernels/vector.h"

enum { ROWS = 8, COLS = 32 };

/* One row of w at a time, so that binary16 is widened once for all rows. */
LANES void tile(float *acc, size_t ldacc, bool fresh, const float *x, int R, const float *w32,
                const uint16_t *w16, size_t ldw, int K, int cols)
{
    for (int r = 0; fresh && r < R; r++)
        memset(acc + r * ldacc, 0, (size_t)cols * sizeof *acc);
    for (int k = 0; k < K; k++)
        for (int n = 0; n < cols; n++) {
            size_t at = (size_t)k * ldw + (size_t)n;
            float w = w32 != NULL ? w32[at] : half_to_f32(w16[at]);
            for (int r = 0; r < R; r++)
                acc[r * ldacc + n] = fmaf(x[k * R + r], w, acc[r * ldacc + n]);
        }
}

static void tile_f16(float *acc, size_t ldacc, bool fresh, const float *x, int R, const uint16_t *w,
                     size_t ldw, int K, int cols, const void *ahead)
{
    (void)ahead;
    tile(acc, ldacc, fresh, x, R, NULL, w, ldw, K, cols);
}

static void tile_f32(float *acc, size_t ldacc, bool fresh, const float *x, int R, const float *w,
                     size_t ldw, int K, int cols, const void *ahead)
{
    (void)ahead;
    tile(acc, ldacc, fresh, x, R, w, NULL, ldw, K, cols);
}

static void pack(float *packed, const float *x, size_t ldx, int R, int K)
{
    for (int k = 0; k < K; k++)
        for (int r = 0; r < R; r++)
            *packed++ = x[r * ldx + k];
}

static double burn(long rounds)
{
    v16 sum = v_set(0);
    const v16 a = v_set(0.5f), b = v_set(1);
    for (long i = 0; i < rounds; i++)
        sum = v_fma(sum, a, b);
    volatile float keep = v_sum(sum);
    (void)keep;
    return 2.0 * LANES_N * (double)rounds;
}

const struct kernels kernels_portable = {.name = "portable",
                                         .lanes = 1,
                                         .tile_rows = ROWS,
                                         .tile_cols = COLS,
                                         .wide_rows = ROWS,
                                         .tile_f16 = tile_f16,
                                         .tile_f32 = tile_f32,
                                         .pack = pack,
                                         .burn = burn,
                                         VECTOR_KERNELS};
