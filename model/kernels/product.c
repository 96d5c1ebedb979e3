/*
 * A thread's share is a block of C, whole units of rows and columns. It is computed in this order
 * of loops, C itself holding the sums between parts of k:
 *
 *   ROWS rows of C
 *     part of k, PART at most: A is packed in row tiles, [k,R] each
 *       strip of tile_cols columns: B is packed, [k,tile_cols]
 *         row tile
 *
 * The strip stays in the first-level cache, packed A in the second.
 */
#include "model/kernels/product.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/blas.h"
#include "model/kernels/kernels.h"
#include "model/kernels/matrix_kernels.h"

#include <string.h>

enum { ROWS = 1024, PART = 384, STRIP = 32 };

struct product_work {
    const struct matrix_kernels *kernels;
    const struct product *p;
    float *packed; /* [ROWS / R][PART][R] */
    float *strip;  /* [PART][tile_cols] */
    float *edge;   /* [R][tile_cols] of sums at the right edge */
};

static size_t carve_work(struct product_work *w, void *scratch)
{
    struct arena a = {.base = scratch};
    w->strip = arena_take(&a, sizeof(float) * PART * STRIP);
    w->edge = arena_take(&a, sizeof(float) * TILE_MAX_ROWS * STRIP);
    w->packed = arena_take(&a, sizeof(float) * ROWS * PART);
    return a.used;
}

size_t product_scratch_bytes(void)
{
    struct product_work w;
    return carve_work(&w, NULL);
}

/* packed [k,R] = alpha A, rows i .. i + R - 1, part l .. l + k - 1. */
static void pack_tile(const struct product_work *w, float *packed, int i, int R, int l, int k)
{
    const struct product *p = w->p;
    const size_t ld = (size_t)p->lda;
    if (!p->transpose_a)
        w->kernels->pack_rows(packed, p->a + (size_t)i * ld + (size_t)l, ld, R, k);
    else
        for (int r = 0; r < k; r++)
            memcpy(packed + (size_t)r * (size_t)R, p->a + (size_t)(l + r) * ld + (size_t)i,
                   (size_t)R * sizeof *packed);
    if (p->alpha != 1)
        for (int r = 0; r < R * k; r++)
            packed[r] *= p->alpha;
}

/* strip [k,width] = B, part l .. l + k - 1, columns j .. j + used - 1, then zeros. */
static void pack_strip(const struct product_work *w, int l, int k, int j, int width, int used)
{
    const struct product *p = w->p;
    const size_t ld = (size_t)p->ldb;
    if (!p->transpose_b) {
        for (int r = 0; r < k; r++) {
            float *to = w->strip + (size_t)r * (size_t)width;
            memcpy(to, p->b + (size_t)(l + r) * ld + (size_t)j, (size_t)used * sizeof *to);
            memset(to + used, 0, (size_t)(width - used) * sizeof *to);
        }
        return;
    }
    w->kernels->pack_columns(w->strip, (size_t)width, p->b + (size_t)j * ld + (size_t)l, ld, used,
                             k);
    if (used < width)
        for (int r = 0; r < k; r++)
            memset(w->strip + (size_t)r * (size_t)width + used, 0,
                   (size_t)(width - used) * sizeof(float));
}

/* The tile of rows i .. i + R - 1, columns j .. j + used - 1 goes on by k steps. */
static void multiply_tile(const struct product_work *w, const float *packed, int i, int R, int j,
                          int width, int used, int k, bool fresh)
{
    const struct prefetch none = {w->strip, 0};
    const size_t ldc = (size_t)w->p->ldc;
    float *c = w->p->c + (size_t)i * ldc + (size_t)j;
    if (used == width) {
        w->kernels->tile_f32(c, ldc, fresh, packed, (size_t)R, R, w->strip, (size_t)width, k, width,
                             NULL, none);
        return;
    }
    for (int r = 0; r < R && !fresh; r++)
        memcpy(w->edge + r * width, c + (size_t)r * ldc, (size_t)used * sizeof *c);
    w->kernels->tile_f32(w->edge, (size_t)width, fresh, packed, (size_t)R, R, w->strip,
                         (size_t)width, k, width, NULL, none);
    for (int r = 0; r < R; r++)
        memcpy(c + (size_t)r * ldc, w->edge + r * width, (size_t)used * sizeof *c);
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

/* Rows i0 .. i1 - 1, at most ROWS, and columns j0 .. j1 - 1. */
static void multiply_rows(const struct product_work *w, int i0, int i1, int j0, int j1)
{
    const struct product *p = w->p;
    const int n_tiles = (i1 - i0 + w->kernels->tile_rows - 1) / w->kernels->tile_rows;
    const int n_parts = (p->k + PART - 1) / PART, width = w->kernels->tile_cols;
    for (int part = 0; part < n_parts; part++) {
        int l, l_end, first, last;
        par_split(p->k, part, n_parts, &l, &l_end);
        const int k = l_end - l;
        const bool fresh = part == 0 && !p->add;
        for (int t = 0; t < n_tiles; t++) {
            par_split(i1 - i0, t, n_tiles, &first, &last);
            pack_tile(w, w->packed + (size_t)first * (size_t)k, i0 + first, last - first, l, k);
        }
        for (int j = j0; j < j1; j += width) {
            const int used = j1 - j < width ? j1 - j : width;
            pack_strip(w, l, k, j, width, used);
            for (int t = 0; t < n_tiles; t++) {
                par_split(i1 - i0, t, n_tiles, &first, &last);
                if (!fresh)
                    prefetch_sums(p, i0 + last, last - first, j);
                multiply_tile(w, w->packed + (size_t)first * (size_t)k, i0 + first, last - first, j,
                              width, used, k, fresh);
            }
            if (part == n_parts - 1 && p->finish != NULL)
                p->finish(p->user, i0, i1 - i0, j, used);
        }
    }
}

static enum product_engine selected = PRODUCT_AUTO;

int product_select(enum product_engine e)
{
    if (e == PRODUCT_OPENBLAS && blas_open() != 0)
        return err_wrap("matrices=openblas");
    selected = e;
    return 0;
}

enum product_engine product_engine(void)
{
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

void product_share(const struct product *p, int thread, int n_threads, void *scratch)
{
    note_work(p, n_threads);
    if (product_engine() == PRODUCT_OPENBLAS) {
        openblas_share(p, thread, n_threads);
        return;
    }
    struct product_work w = {.kernels = matrix_kernels(), .p = p};
    carve_work(&w, scratch);
    const int R = w.kernels->tile_rows, width = w.kernels->tile_cols;
    const int across = choose_across(p, n_threads, R, width), down = n_threads / across;
    int i0, i1, j0, j1;
    par_split((p->m + R - 1) / R, thread / across, down, &i0, &i1);
    par_split((p->n + width - 1) / width, thread % across, across, &j0, &j1);
    i0 *= R;
    i1 = i1 * R < p->m ? i1 * R : p->m;
    j0 *= width;
    j1 = j1 * width < p->n ? j1 * width : p->n;
    for (int i = i0; i < i1 && j0 < j1; i += ROWS)
        multiply_rows(&w, i, i + ROWS < i1 ? i + ROWS : i1, j0, j1);
}
