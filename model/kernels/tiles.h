#ifndef PRATTLE_MODEL_KERNELS_TILES_H
#define PRATTLE_MODEL_KERNELS_TILES_H
/*
 * The entries tile_f16, tile_f32, row_f16 and row_f32 of struct matrix_kernels for an instruction
 * set, made from inlined functions that the including file defines:
 *
 *   multiply_tile(R, C, half, ...)                   a tile of R rows and C registers of columns,
 *                                                    instantiated below for each shape
 *   choose_tile(half, R, cols, &width)               the instance to run next, and its columns
 *   multiply_panels(half, acc, x, w, K, panels)      one row of x times whole panels
 */
#include "model/kernels/lanes.h"
#include "model/kernels/matrix_kernels.h"

typedef void tile_fn(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx,
                     const void *w, size_t ldw, int K, float *wide, struct prefetch prefetch);

/* The two instances of a shape, and their entry in a table [rows][half]. */
#define TILE(R, C)                                                                                 \
    static void tile_f16_##R##_##C(float *acc, size_t ldacc, bool fresh, const float *x,           \
                                   size_t ldx, const void *w, size_t ldw, int K, float *wide,      \
                                   struct prefetch prefetch)                                       \
    {                                                                                              \
        multiply_tile(R, C, true, acc, ldacc, fresh, x, ldx, w, ldw, K, wide, prefetch);           \
    }                                                                                              \
    static void tile_f32_##R##_##C(float *acc, size_t ldacc, bool fresh, const float *x,           \
                                   size_t ldx, const void *w, size_t ldw, int K, float *wide,      \
                                   struct prefetch prefetch)                                       \
    {                                                                                              \
        multiply_tile(R, C, false, acc, ldacc, fresh, x, ldx, w, ldw, K, wide, prefetch);          \
    }
#define TILE_ROW(R, C) [R] = {tile_f32_##R##_##C, tile_f16_##R##_##C},

/* T(1, C) .. T(n, C) */
#define TILES_3(T, C) T(1, C) T(2, C) T(3, C)
#define TILES_6(T, C) TILES_3(T, C) T(4, C) T(5, C) T(6, C)
#define TILES_14(T, C)                                                                             \
    TILES_6(T, C)                                                                                  \
    T(7, C) T(8, C) T(9, C) T(10, C) T(11, C) T(12, C) T(13, C) T(14, C)

#define TILE_ENTRY(name, half, element)                                                            \
    static void name(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,      \
                     const element *w, size_t ldw, int K, int cols, float *wide,                   \
                     struct prefetch prefetch)                                                     \
    {                                                                                              \
        for (int width; cols > 0; cols -= width, acc += width, w += width) {                       \
            choose_tile(half, R, cols, &width)(acc, ldacc, fresh, x, ldx, w, ldw, K, wide,         \
                                               prefetch);                                          \
            prefetch.step = 0;                                                                     \
        }                                                                                          \
    }
#define TILE_ENTRIES                                                                               \
    TILE_ENTRY(tile_f16, true, uint16_t)                                                           \
    TILE_ENTRY(tile_f32, false, float)

#define ROW_ENTRIES                                                                                \
    static void row_f16(float *acc, const float *x, const uint16_t *w, int K, int panels)          \
    {                                                                                              \
        multiply_panels(true, acc, x, (const char *)w, K, panels);                                 \
    }                                                                                              \
    static void row_f32(float *acc, const float *x, const float *w, int K, int panels)             \
    {                                                                                              \
        multiply_panels(false, acc, x, (const char *)w, K, panels);                                \
    }

#endif
