#ifndef PRATTLE_MODEL_KERNELS_TILES_H
#define PRATTLE_MODEL_KERNELS_TILES_H
/*
 * The entries tile_f16, tile_f32, tile_q8, tile_i8, row_f16, row_f32 and row_q8 of struct
 * matrix_kernels for an instruction set, made from inlined functions that the including file
 * defines:
 *
 *   multiply_tile(R, C, kind, ...)                   a tile of R rows and C registers of columns,
 *                                                    instantiated below for each shape
 *   first_tile(kind, ..., cols, wide, prefetch)      the tile with which a block of `cols` columns
 *                                                    begins; returns its columns
 *   multiply_panels(kind, acc, x, w, K, panels)      one row of x times whole panels
 */
#include "model/kernels/lanes.h"
#include "model/kernels/matrix_kernels.h"

enum weight_kind { WEIGHTS_F32, WEIGHTS_F16, WEIGHTS_Q8, WEIGHTS_I8, WEIGHT_KINDS };

/* Of WEIGHTS_Q8, w is a struct q8_panel and ldw the tile's first column in it. */
typedef void tile_fn(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx,
                     const void *w, size_t ldw, int K, float *wide, struct prefetch prefetch);

/* The instances of a shape, made from a function like multiply_tile, and their entry in a table
 * [rows][kind]. */
#define TILE_OF(name, kind, multiply, R, C)                                                        \
    static void name##_##R##_##C(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, \
                                 const void *w, size_t ldw, int K, float *wide,                    \
                                 struct prefetch prefetch)                                         \
    {                                                                                              \
        multiply(R, C, kind, acc, ldacc, fresh, x, ldx, w, ldw, K, wide, prefetch);                \
    }
#define TILES_OF(name, multiply, R, C)                                                             \
    TILE_OF(name##_f16, WEIGHTS_F16, multiply, R, C)                                               \
    TILE_OF(name##_f32, WEIGHTS_F32, multiply, R, C)                                               \
    TILE_OF(name##_q8, WEIGHTS_Q8, multiply, R, C)                                                 \
    TILE_OF(name##_i8, WEIGHTS_I8, multiply, R, C)
#define TILE_ROW_OF(name, R, C)                                                                    \
    [R] = {name##_f32_##R##_##C, name##_f16_##R##_##C, name##_q8_##R##_##C, name##_i8_##R##_##C},
#define TILE(R, C) TILES_OF(tile, multiply_tile, R, C)
#define TILE_ROW(R, C) TILE_ROW_OF(tile, R, C)

/* T(1, C) .. T(n, C) */
#define TILES_3(T, C) T(1, C) T(2, C) T(3, C)
#define TILES_6(T, C) TILES_3(T, C) T(4, C) T(5, C) T(6, C)
#define TILES_14(T, C)                                                                             \
    TILES_6(T, C)                                                                                  \
    T(7, C) T(8, C) T(9, C) T(10, C) T(11, C) T(12, C) T(13, C) T(14, C)

#define TILE_ENTRY(name, kind, element)                                                            \
    static void name(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,      \
                     const element *w, size_t ldw, int K, int cols, float *wide,                   \
                     struct prefetch prefetch)                                                     \
    {                                                                                              \
        for (int width; cols > 0; cols -= width, acc += width, w += width) {                       \
            width =                                                                                \
                first_tile(kind, acc, ldacc, fresh, x, ldx, R, w, ldw, K, cols, wide, prefetch);   \
            prefetch.step = 0;                                                                     \
        }                                                                                          \
    }
#define TILE_ENTRIES                                                                               \
    TILE_ENTRY(tile_f16, WEIGHTS_F16, uint16_t)                                                    \
    TILE_ENTRY(tile_f32, WEIGHTS_F32, float)                                                       \
    TILE_ENTRY(tile_i8, WEIGHTS_I8, int8_t)                                                        \
    static void tile_q8(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,   \
                        const struct q8_panel *w, int col, int K, int cols, float *wide,           \
                        struct prefetch prefetch)                                                  \
    {                                                                                              \
        for (int width; cols > 0; cols -= width, acc += width, col += width) {                     \
            width = first_tile(WEIGHTS_Q8, acc, ldacc, fresh, x, ldx, R, w, (size_t)col, K, cols,  \
                               wide, prefetch);                                                    \
            prefetch.step = 0;                                                                     \
        }                                                                                          \
    }

#define ROW_ENTRY(name, kind, element)                                                             \
    static void name(float *acc, const float *x, const element *w, int K, int panels)              \
    {                                                                                              \
        multiply_panels(kind, acc, x, (const char *)w, K, panels);                                 \
    }
#define ROW_ENTRIES                                                                                \
    ROW_ENTRY(row_f16, WEIGHTS_F16, uint16_t)                                                      \
    ROW_ENTRY(row_f32, WEIGHTS_F32, float)                                                         \
    ROW_ENTRY(row_q8, WEIGHTS_Q8, struct q8_panel)

/* Bytes of a panel's K rows. */
static inline size_t panel_bytes(enum weight_kind kind, int K)
{
    const size_t rows = (size_t)K;
    return kind == WEIGHTS_Q8    ? rows / Q8_BLOCK * sizeof(struct q8_panel)
           : kind == WEIGHTS_F16 ? rows * 64 * 2
                                 : rows * 64 * 4;
}

#endif
