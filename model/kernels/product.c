/*
 * A thread's share is a block of C, whole units of rows and columns. It is computed in this order
 * of loops, C itself holding the sums between parts of k:
 *
 *   rows of C, as many as are packed at once
 *     part of k: A is packed in row tiles, [k,R] each
 *       block_cols columns: B is packed in strips of tile_cols, [k,tile_cols] each
 *         row tile
 *           strip
 *
 * Row tiles of a thread that is late are computed by threads that wait for it (par_items). A tile
 * stays in the first-level cache, the strips in the second. Sums are met a long run of a row at a
 * time: rows of C are far apart, often by a multiple of what a cache has in a way.
 */
#include "model/kernels/product.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/bf16_kernels.h"
#include "model/kernels/blas.h"
#include "model/kernels/kernels.h"
#include "model/kernels/matrix_kernels.h"

#include <string.h>

/* In bfloat16 a block has so many rows of A and columns of B, and PART floats of k. */
enum { ROWS = 1024, COLS = 256, PART = 384 };
enum { PACKED_FLOATS = ROWS * PART, WIDEST_STRIP = 32 };
enum { LINE = 16 /* floats */, ROWS_AHEAD = 4 };

_Static_assert(COLS *PART <= BLOCK_FLOATS, "a block of B in bfloat16 fits its scratch");

struct product_work {
    const struct matrix_kernels *kernels;
    const struct bf16_kernels *bf16; /* NULL: the factors stay fp32 */
    const struct product *p;
    int tile_rows, tile_cols;
    int rows, cols, part; /* at most, of what is packed at once */
    float *packed;        /* [rows / R][part][R] */
    float *strips;        /* [cols / tile_cols][part][tile_cols] */
};

static size_t carve_work(struct product_work *w, void *scratch)
{
    struct arena a = {.base = scratch};
    w->strips = arena_take(&a, sizeof(float) * BLOCK_FLOATS);
    w->packed = arena_take(&a, sizeof(float) * (PACKED_FLOATS + BF16_MAX_ROWS * PART));
    return a.used;
}

size_t product_scratch_bytes(void)
{
    struct product_work w;
    return carve_work(&w, NULL);
}

/* Where row tile t of a part of k is packed, the first of its rows being `first`. */
static void *packed_tile(const struct product_work *w, int t, int first, int k)
{
    if (w->bf16 == NULL)
        return w->packed + (size_t)first * (size_t)k;
    return (char *)w->packed +
           (size_t)(t * w->tile_rows) * (size_t)bf16_filled(k) * w->bf16->element;
}

/* to [n] = from, n at most 16, without a call of memcpy, since there are many: parts overlap. */
static inline void copy_few(float *to, const float *from, size_t n)
{
    if (n >= 8) {
        memcpy(to, from, 8 * sizeof *to);
        memcpy(to + n - 8, from + n - 8, 8 * sizeof *to);
    } else if (n >= 4) {
        memcpy(to, from, 4 * sizeof *to);
        memcpy(to + n - 4, from + n - 4, 4 * sizeof *to);
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
    }
}

/* packed [k,R] = alpha A, rows i .. i + R - 1, part l .. l + k - 1. */
static void pack_tile(const struct product_work *w, float *packed, int i, int R, int l, int k)
{
    const struct product *p = w->p;
    const size_t ld = (size_t)p->lda;
    if (w->bf16 != NULL) {
        const float *a =
            p->transpose_a ? p->a + (size_t)l * ld + (size_t)i : p->a + (size_t)i * ld + (size_t)l;
        w->bf16->pack_a(packed, a, ld, p->transpose_a, p->alpha, R, k);
        return;
    }
    if (!p->transpose_a)
        w->kernels->pack_rows(packed, p->a + (size_t)i * ld + (size_t)l, ld, R, k);
    else
        for (int r = 0; r < k; r++) {
            const float *from = p->a + (size_t)(l + r) * ld + (size_t)i;
            __builtin_prefetch(from + R + LINE); /* of the next tiles */
            copy_few(packed + (size_t)r * (size_t)R, from, (size_t)R);
        }
    if (p->alpha != 1)
        for (int r = 0; r < R * k; r++)
            packed[r] *= p->alpha;
}

/* Some rows, a part of k, a block of columns, and its strips. */
struct product_block {
    const struct product_work *w;
    int i0, i1, n_tiles;
    int l, k;
    int j, cols;
    bool fresh; /* nothing is there to be added to */
    bool last;  /* the sums are complete then */
};

static float *strip_at(const struct product_work *w, const struct product_block *b, int col)
{
    return w->strips + (size_t)col * (size_t)b->k;
}

/* A row of a strip; of a whole one without a call of memcpy, since there are many. */
static inline void copy_row(float *to, const float *from, int used, int width)
{
    if (used == 32) {
        memcpy(to, from, 32 * sizeof *to);
    } else if (used == 16 && width == 16) {
        memcpy(to, from, 16 * sizeof *to);
    } else {
        memcpy(to, from, (size_t)used * sizeof *to);
        memset(to + used, 0, (size_t)(width - used) * sizeof *to);
    }
}

/* The strips, zero beyond the columns; rows of B are read in one go. */
static void pack_strips(const struct product_work *w, const struct product_block *b)
{
    const struct product *p = w->p;
    const size_t ld = (size_t)p->ldb;
    const int width = w->tile_cols;
    if (w->bf16 != NULL) {
        const float *from = p->transpose_b ? p->b + (size_t)b->j * ld + (size_t)b->l
                                           : p->b + (size_t)b->l * ld + (size_t)b->j;
        w->bf16->pack_b(w->strips, from, ld, p->transpose_b, b->cols, b->k);
        return;
    }
    for (int r = 0; r < b->k && !p->transpose_b; r++) {
        const float *row = p->b + (size_t)(b->l + r) * ld + (size_t)b->j;
        for (int col = 0; r + ROWS_AHEAD < b->k && col < b->cols; col += LINE)
            __builtin_prefetch(row + ROWS_AHEAD * ld + col);
        for (int col = 0; col < b->cols; col += width) {
            const int used = b->cols - col < width ? b->cols - col : width;
            float *to = strip_at(w, b, col) + (size_t)r * (size_t)width;
            copy_row(to, row + col, used, width);
        }
    }
    for (int col = 0; col < b->cols && p->transpose_b; col += width) {
        const int used = b->cols - col < width ? b->cols - col : width;
        float *to = strip_at(w, b, col);
        w->kernels->pack_columns(to, (size_t)width, p->b + (size_t)(b->j + col) * ld + (size_t)b->l,
                                 ld, used, b->k);
        for (int r = 0; r < b->k && used < width; r++)
            memset(to + (size_t)r * (size_t)width + used, 0, (size_t)(width - used) * sizeof *to);
    }
}

/* The tile of rows i .. i + R - 1 and the strip of column `col` of the block goes on. */
static void multiply_tile(const struct product_work *w, const struct product_block *b,
                          const float *packed, int i, int R, int col)
{
    const float *strip = strip_at(w, b, col);
    const struct prefetch none = {strip, 0};
    const int width = w->tile_cols, used = b->cols - col < width ? b->cols - col : width;
    const size_t ldc = (size_t)w->p->ldc;
    float *c = w->p->c + (size_t)i * ldc + (size_t)(b->j + col);
    if (used == width) {
        w->kernels->tile_f32(c, ldc, b->fresh, packed, (size_t)R, R, strip, (size_t)width, b->k,
                             width, NULL, none);
        return;
    }
    float edge[TILE_MAX_ROWS * WIDEST_STRIP] = {0};
    for (int r = 0; r < R && !b->fresh; r++)
        memcpy(edge + r * width, c + (size_t)r * ldc, (size_t)used * sizeof *c);
    w->kernels->tile_f32(edge, (size_t)width, b->fresh, packed, (size_t)R, R, strip, (size_t)width,
                         b->k, width, NULL, none);
    for (int r = 0; r < R; r++)
        memcpy(c + (size_t)r * ldc, edge + r * width, (size_t)used * sizeof *c);
}

/* The sums that the next tile goes on from, while this one is computed. */
static void prefetch_sums(const struct product *p, int i, int R, int j)
{
    for (int r = 0; r < R && i + r < p->m; r++) {
        const float *c = p->c + (size_t)(i + r) * (size_t)p->ldc + (size_t)j;
        __builtin_prefetch(c, 1);
        __builtin_prefetch(c + 16, 1);
    }
}

/* Row tile t of the block. */
static void multiply_row_tile(void *block, int t)
{
    const struct product_block *b = block;
    const struct product_work *w = b->w;
    const int width = w->tile_cols;
    int first, next_tile;
    par_split(b->i1 - b->i0, t, b->n_tiles, &first, &next_tile);
    const int i = b->i0 + first, R = next_tile - first;
    const float *packed = packed_tile(w, t, first, b->k);
    if (w->bf16 != NULL)
        w->bf16->multiply(w->p->c + (size_t)i * (size_t)w->p->ldc + (size_t)b->j, (size_t)w->p->ldc,
                          b->fresh, packed, R, w->strips, b->cols, b->k);
    for (int col = w->bf16 != NULL ? b->cols : 0, next; col < b->cols; col = next) {
        next = col + width;
        if (next < b->cols)
            prefetch_sums(w->p, i, R, b->j + next);
        else
            prefetch_sums(w->p, i + R, R, b->j);
        multiply_tile(w, b, packed, i, R, col);
    }
    if (b->last && w->p->finish != NULL)
        w->p->finish(w->p->user, i, R, b->j, b->cols);
}

/* Rows i0 .. i1 - 1, at most w->rows, and columns j0 .. j1 - 1. */
static void multiply_rows(const struct product_work *w, int i0, int i1, int j0, int j1)
{
    const struct product *p = w->p;
    const int n_tiles = (i1 - i0 + w->tile_rows - 1) / w->tile_rows;
    const int unit = w->bf16 != NULL ? BF16_GROUP : 1;
    const int n_parts = (p->k + w->part - 1) / w->part;
    for (int part = 0; part < n_parts; part++) {
        int l, l_end, first, last;
        par_split((p->k + unit - 1) / unit, part, n_parts, &l, &l_end);
        l *= unit;
        const int k = (l_end * unit < p->k ? l_end * unit : p->k) - l;
        for (int t = 0; t < n_tiles; t++) {
            par_split(i1 - i0, t, n_tiles, &first, &last);
            pack_tile(w, packed_tile(w, t, first, k), i0 + first, last - first, l, k);
        }
        for (int j = j0; j < j1; j += w->cols) {
            struct product_block b = {.w = w,
                                      .i0 = i0,
                                      .i1 = i1,
                                      .n_tiles = n_tiles,
                                      .l = l,
                                      .k = k,
                                      .j = j,
                                      .cols = j1 - j < w->cols ? j1 - j : w->cols,
                                      .fresh = part == 0 && !p->add,
                                      .last = part == n_parts - 1};
            pack_strips(w, &b);
            par_items(multiply_row_tile, &b, n_tiles);
        }
    }
}

static enum product_engine selected = PRODUCT_AUTO;
static enum product_factors factors = FACTORS_FLOAT32;

int product_select(enum product_engine e, enum product_factors f)
{
    if (e == PRODUCT_OPENBLAS && f == FACTORS_BFLOAT16)
        return err_set(ERR_RANGE, "products in bfloat16 are our own: matrices=own");
    if (e == PRODUCT_OPENBLAS && blas_open() != 0)
        return err_wrap("matrices=openblas");
    selected = e;
    factors = f;
    (void)product_engine(); /* opens what it needs, which a job must not */
    return 0;
}

void product_set_factors(enum product_factors f)
{
    factors = f;
}

enum product_factors product_factors(void)
{
    return factors;
}

enum product_engine product_engine(void)
{
    if (factors == FACTORS_BFLOAT16)
        return PRODUCT_OWN;
    if (selected != PRODUCT_AUTO)
        return selected;
    return strcmp(kernels_name(), "portable") == 0 && blas_open() == 0 ? PRODUCT_OPENBLAS
                                                                       : PRODUCT_OWN;
}

/* By how many threads the columns are divided, a divisor of their number: where the largest share
 * costs least. Packing an element costs as much as PACK multiply-adds. */
static int choose_across(const struct product *p, int n_threads, int R, int width)
{
    enum { PACK = 16 };
    int best = 1;
    double least = 0;
    for (int across = 1; across <= n_threads; across++) {
        const int down = n_threads / across;
        if (n_threads % across != 0)
            continue;
        const double rows = ((p->m + R - 1) / R + down - 1) / down * (double)R;
        const double cols = ((p->n + width - 1) / width + across - 1) / across * (double)width;
        const double cost = rows * cols + PACK * (rows + cols);
        if (across == 1 || cost < least) {
            least = cost;
            best = across;
        }
    }
    return best;
}

static void openblas_share(const struct product *p, int thread, int n_threads)
{
    int first, last;
    par_split(blas_tiles(p->m, p->n), thread, n_threads, &first, &last);
    for (int i = first; i < last; i++) {
        const struct blas_tile t = blas_tile(p->m, p->n, i);
        const size_t row = (size_t)t.row, col = (size_t)t.col;
        blas_gemm(p->transpose_a, p->transpose_b, t.rows, t.cols, p->k, p->alpha,
                  p->a + (p->transpose_a ? row : row * (size_t)p->lda), p->lda,
                  p->b + (p->transpose_b ? col * (size_t)p->ldb : col), p->ldb, p->add ? 1 : 0,
                  p->c + row * (size_t)p->ldc + col, p->ldc);
        if (p->finish != NULL)
            p->finish(p->user, t.row, t.rows, t.col, t.cols);
    }
}

/* Each matrix once, C twice where it is added to. */
static void note_work(const struct product *p, int n_threads)
{
    const double m = p->m, n = p->n, k = p->k;
    profile_work(2 * m * n * k / n_threads,
                 sizeof(float) * (m * k + k * n + (p->add ? 2 : 1) * m * n) / n_threads);
}

/* A longer part of k meets the sums less often; of elements half as large it has twice as many. */
static void choose_kernels(struct product_work *w)
{
    w->kernels = matrix_kernels();
    if (factors == FACTORS_BFLOAT16 && !w->p->float32) {
        w->bf16 = bf16_kernels();
        w->tile_rows = w->bf16->tile_rows;
        w->tile_cols = w->bf16->tile_cols;
        w->rows = ROWS;
        w->cols = COLS;
        w->part = PART * (int)(sizeof(float) / w->bf16->element);
    } else {
        w->tile_rows = w->kernels->tile_rows;
        w->tile_cols = w->kernels->tile_cols;
        w->rows = PACKED_FLOATS / w->kernels->part;
        w->cols = w->kernels->block_cols;
        w->part = w->kernels->part;
    }
}

void product_share(const struct product *p, int thread, int n_threads, void *scratch)
{
    note_work(p, n_threads);
    if (product_engine() == PRODUCT_OPENBLAS) {
        openblas_share(p, thread, n_threads);
        return;
    }
    struct product_work w = {.p = p};
    carve_work(&w, scratch);
    choose_kernels(&w);
    const int R = w.tile_rows, width = w.tile_cols;
    const int across = choose_across(p, n_threads, R, width), down = n_threads / across;
    int i0, i1, j0, j1;
    par_split((p->m + R - 1) / R, thread / across, down, &i0, &i1);
    par_split((p->n + width - 1) / width, thread % across, across, &j0, &j1);
    i0 *= R;
    i1 = i1 * R < p->m ? i1 * R : p->m;
    j0 *= width;
    j1 = j1 * width < p->n ? j1 * width : p->n;
    for (int i = i0; i < i1 && j0 < j1; i += w.rows)
        multiply_rows(&w, i, i + w.rows < i1 ? i + w.rows : i1, j0, j1);
}
