/*
 * One row streams whole panels (row_f16, row_f32). Several rows, up to ROWS at a time, are packed
 * once into row tiles and meet W in this order of loops:
 *
 *   group of panels (1, or GROUP with many tiles)
 *     part of K, PART rows of a panel at most
 *       panel of the group
 *         tile_cols columns of the panel
 *           row tile: the first widens the part to fp32 into `strip`, the others read strip
 *
 * strip fits the first-level cache; while it is in use, the tiles prefetch the next part. With
 * many tiles the group lets packed x come from the second-level cache; the sums of a group wait in
 * `acc` between the parts of K, which does not change their order.
 */
#include "model/kernels/linear.h"

#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/kernels/product.h"
#include "model/kernels/row_kernels.h"

#include <string.h>

enum { ROWS = 256, GROUP = 4, MANY_TILES = 4, PART = 384 };
enum { UNIT = 32 /* a thread's share is whole units of columns */ };

struct linear_work {
    const struct matrix_kernels *k;
    const struct linear *w;
    int T, n_tiles, n_parts;
    float *packed; /* row tile after row tile, each [K,R] */
    float *acc;    /* [GROUP][T][64] */
    float *strip;  /* [PART][tile_cols] */
};

size_t linear_bytes(enum dtype dtype, int K, int N)
{
    return (size_t)linear_panels(N) * (size_t)K * PANEL * (dtype == DTYPE_F16 ? 2 : 4);
}

static size_t carve_work(struct linear_work *s, void *scratch, int max_k)
{
    struct arena a = {.base = scratch};
    s->acc = arena_take(&a, sizeof(float) * GROUP * ROWS * PANEL);
    s->strip = arena_take(&a, sizeof(float) * PART * UNIT);
    s->packed = arena_take(&a, sizeof(float) * ROWS * (size_t)max_k);
    return a.used;
}

size_t linear_scratch_bytes(int max_k)
{
    struct linear_work s;
    const size_t panels = carve_work(&s, NULL, max_k), plain = product_scratch_bytes();
    return panels > plain ? panels : plain;
}

static const char *panel_at(const struct linear *w, int panel, int k)
{
    size_t element = w->dtype == DTYPE_F16 ? 2 : 4;
    return (const char *)w->data + ((size_t)panel * (size_t)w->K + (size_t)k) * PANEL * element;
}

/* The rows of tile i. */
static void tile_span(const struct linear_work *s, int i, int *first, int *count)
{
    int last;
    par_split(s->T, i, s->n_tiles, first, &last);
    *count = last - *first;
}

/* Columns lo .. hi - 1 of a part of K, at w, times all row tiles; next: the part to prefetch. */
static void multiply_part(const struct linear_work *s, float *acc, const char *w, const char *next,
                          int k0, int K, int lo, int hi)
{
    const bool half = s->w->dtype == DTYPE_F16;
    const size_t bytes = (size_t)PANEL * (half ? 2 : 4); /* of a row of the panel */
    int R, first, width;
    tile_span(s, 0, &first, &R);
    width = R <= s->k->wide_rows && s->n_tiles == 1 ? hi - lo : s->k->tile_cols;
    const size_t calls = (size_t)((hi - lo) / width * s->n_tiles);
    struct prefetch prefetch = {next, (bytes / 2 + calls - 1) / calls * 2};
    if (prefetch.step > 128)
        prefetch.step = 128;
    for (int col = lo; col < hi; col += width)
        for (int i = 0; i < s->n_tiles; i++) {
            tile_span(s, i, &first, &R);
            const float *x = s->packed + (size_t)first * (size_t)s->w->K + (size_t)k0 * (size_t)R;
            float *sums = acc + (size_t)first * PANEL + col;
            float *wide = i == 0 && s->n_tiles > 1 ? s->strip : NULL;
            if (i > 0)
                s->k->tile_f32(sums, PANEL, k0 == 0, x, (size_t)R, R, s->strip, (size_t)width, K,
                               width, NULL, prefetch);
            else if (half)
                s->k->tile_f16(sums, PANEL, k0 == 0, x, (size_t)R, R, (const uint16_t *)w + col,
                               PANEL, K, width, wide, prefetch);
            else
                s->k->tile_f32(sums, PANEL, k0 == 0, x, (size_t)R, R, (const float *)w + col, PANEL,
                               K, width, wide, prefetch);
            prefetch.at = (const char *)prefetch.at + prefetch.step * (size_t)K;
        }
}

static void write_sums(const struct linear_work *s, float *y, size_t ldy, const float *acc, int c0,
                       int c1, enum epilogue epilogue)
{
    if (c1 > s->w->N)
        c1 = s->w->N;
    s->k->epilogue(y + c0, ldy, acc + c0 % PANEL, PANEL,
                   s->w->bias == NULL ? NULL : s->w->bias + c0, s->T, (size_t)(c1 - c0), epilogue);
}

/* Columns c0 .. c1 - 1, whole units of at most GROUP panels, for all rows of s. */
static void multiply_group(const struct linear_work *s, float *y, size_t ldy, int c0, int c1,
                           enum epilogue epilogue)
{
    const int panels = (c1 + PANEL - 1) / PANEL - c0 / PANEL, p0 = c0 / PANEL;
    const size_t acc_panel = (size_t)s->T * PANEL;
    for (int step = 0; step < s->n_parts * panels; step++) {
        int p = step % panels, k0, k1, next_k0, next_k1, next = step + 1;
        int lo = p == 0 ? c0 % PANEL : 0, hi = c1 - (p0 + p) * PANEL;
        par_split(s->w->K, step / panels, s->n_parts, &k0, &k1);
        par_split(s->w->K, next / panels, s->n_parts, &next_k0, &next_k1);
        const char *after = next == s->n_parts * panels
                                ? panel_at(s->w, p0 + panels, 0)
                                : panel_at(s->w, p0 + next % panels, next_k0);
        multiply_part(s, s->acc + (size_t)p * acc_panel, panel_at(s->w, p0 + p, k0), after, k0,
                      k1 - k0, lo, hi < PANEL ? hi : PANEL);
    }
    for (int p = 0; p < panels; p++) {
        int from = p == 0 ? c0 : (p0 + p) * PANEL, to = (p0 + p + 1) * PANEL;
        write_sums(s, y, ldy, s->acc + (size_t)p * acc_panel, from, to < c1 ? to : c1, epilogue);
    }
}

/* Prefetch a run that is too short for the hardware prefetcher to recognize. */
static void fetch_floats(const float *x, int n)
{
    for (int i = 0; i < n; i += 16)
        __builtin_prefetch(x + i);
}

/* One row: as many whole panels at once as acc holds, and a share's half panels as tiles. */
static void multiply_one_row(struct linear_work *s, float *y, const float *x, int c0, int c1,
                             enum epilogue epilogue)
{
    s->T = 1;
    fetch_floats(x, s->w->K);
    if (s->w->bias != NULL)
        fetch_floats(s->w->bias + c0, c1 - c0);
    for (int col = c0, next; col < c1; col = next) {
        const char *w = panel_at(s->w, col / PANEL, 0);
        int whole = (c1 - col) / PANEL, K = s->w->K, lo = col % PANEL;
        if (lo == 0 && whole > 0) {
            whole = whole < GROUP * ROWS ? whole : GROUP * ROWS;
            next = col + whole * PANEL;
            if (s->w->dtype == DTYPE_F16)
                s->k->row_f16(s->acc, x, (const uint16_t *)w, K, whole);
            else
                s->k->row_f32(s->acc, x, (const float *)w, K, whole);
        } else {
            next = col + UNIT;
            struct prefetch prefetch = {w + 1024, 128};
            if (s->w->dtype == DTYPE_F16)
                s->k->tile_f16(s->acc + lo, 0, true, x, 1, 1, (const uint16_t *)w + lo, PANEL, K,
                               UNIT, NULL, prefetch);
            else
                s->k->tile_f32(s->acc + lo, 0, true, x, 1, 1, (const float *)w + lo, PANEL, K, UNIT,
                               NULL, prefetch);
        }
        write_sums(s, y, 0, s->acc, col, next, epilogue);
    }
}

/* What becomes of a block of a product by LINEAR_ROWS or LINEAR_COLUMNS. */
struct plain_finish {
    const float *bias;
    float *y;
    size_t ldy;
    enum epilogue epilogue;
};

static void finish_plain(void *user, int row, int rows, int col, int cols)
{
    const struct plain_finish *f = user;
    float *y = f->y + (size_t)row * f->ldy + (size_t)col;
    matrix_kernels()->epilogue(y, f->ldy, y, f->ldy, f->bias == NULL ? NULL : f->bias + col, rows,
                               (size_t)cols, f->epilogue);
}

/* LINEAR_ROWS and LINEAR_COLUMNS; for EPILOGUE_ADD the product itself goes on from y. */
static void multiply_plain(const struct linear *w, float *y, size_t ldy, const float *x, size_t ldx,
                           int T, enum epilogue epilogue, int thread, int n_threads, void *scratch)
{
    const bool transposed = w->layout == LINEAR_COLUMNS, add = epilogue == EPILOGUE_ADD;
    struct plain_finish finish = {w->bias, y, ldy, add ? EPILOGUE_STORE : epilogue};
    const struct product p = {.transpose_b = transposed,
                              .add = add,
                              .m = T,
                              .n = w->N,
                              .k = w->K,
                              .alpha = 1,
                              .a = x,
                              .lda = (int)ldx,
                              .b = w->data,
                              .ldb = transposed ? w->K : w->N,
                              .c = y,
                              .ldc = (int)ldy,
                              .finish =
                                  w->bias != NULL || epilogue > EPILOGUE_ADD ? finish_plain : NULL,
                              .user = &finish};
    product_share(&p, thread, n_threads, scratch);
}

void linear_rows(const struct linear *w, float *y, size_t ldy, const float *x, size_t ldx, int T,
                 enum epilogue epilogue, int thread, int n_threads, void *scratch)
{
    if (w->layout != LINEAR_PANELS) {
        multiply_plain(w, y, ldy, x, ldx, T, epilogue, thread, n_threads, scratch);
        return;
    }
    struct linear_work s = {.k = matrix_kernels(), .w = w};
    carve_work(&s, scratch, w->K);
    int c0, c1;
    par_split((w->N + UNIT - 1) / UNIT, thread, n_threads, &c0, &c1);
    c0 *= UNIT;
    c1 *= UNIT;
    if (c0 == c1)
        return;
    s.n_parts = (w->K + PART - 1) / PART;
    if (T == 1) {
        multiply_one_row(&s, y, x, c0, c1, epilogue);
        return;
    }
    for (int t = 0; t < T; t += ROWS) {
        s.T = T - t < ROWS ? T - t : ROWS;
        s.n_tiles = (s.T + s.k->tile_rows - 1) / s.k->tile_rows;
        for (int i = 0; i < s.n_tiles; i++) {
            int first, R;
            tile_span(&s, i, &first, &R);
            s.k->pack_rows(s.packed + (size_t)first * (size_t)w->K, x + (size_t)(t + first) * ldx,
                           ldx, R, w->K);
        }
        const int wide = (s.n_tiles > MANY_TILES ? GROUP : 1) * PANEL;
        for (int col = c0, next; col < c1; col = next) {
            next = col - col % PANEL + wide < c1 ? col - col % PANEL + wide : c1;
            multiply_group(&s, y + (size_t)t * ldy, ldy, col, next, epilogue);
        }
    }
}

void linear_column(const struct linear *w, int n, float *out)
{
    const float *plain = w->data;
    const size_t K = (size_t)w->K, N = (size_t)w->N;
    if (w->layout == LINEAR_COLUMNS)
        memcpy(out, plain + (size_t)n * K, K * sizeof *out);
    if (w->layout == LINEAR_ROWS)
        for (size_t k = 0; k < K; k++)
            out[k] = plain[k * N + (size_t)n];
    if (w->layout != LINEAR_PANELS)
        return;
    const size_t offset = (size_t)(n % PANEL);
    const char *panel = panel_at(w, n / PANEL, 0);
    for (size_t k = 0; k < K; k++)
        out[k] = w->dtype == DTYPE_F16 ? half_to_f32(((const uint16_t *)panel)[k * PANEL + offset])
                                       : ((const float *)panel)[k * PANEL + offset];
}

/* Copy n elements from src to dst, converting between the types. */
static void copy_elements(void *dst, enum dtype dst_dtype, const void *src, enum dtype src_dtype,
                          size_t n)
{
    const struct row_kernels *k = row_kernels();
    if (dst_dtype == src_dtype)
        memcpy(dst, src, n * (dst_dtype == DTYPE_F16 ? 2 : 4));
    else if (dst_dtype == DTYPE_F16)
        k->half_from_f32(dst, src, n);
    else
        k->half_to_f32(dst, src, n);
}

void linear_fill_part(struct linear *w, const float *src, int k, int col, int n)
{
    const size_t element = w->dtype == DTYPE_F16 ? 2 : 4;
    char *row = (char *)panel_at(w, col / PANEL, k);
    copy_elements(row + (size_t)(col % PANEL) * element, w->dtype, src, DTYPE_F32, (size_t)n);
}

void linear_fill_in_major(struct linear *w, const void *src, enum dtype src_dtype, int k0,
                          int count)
{
    const size_t element = src_dtype == DTYPE_F16 ? 2 : 4;
    for (int p = 0; p < linear_panels(w->N); p++) {
        size_t n = (size_t)(w->N - p * PANEL < PANEL ? w->N - p * PANEL : PANEL);
        for (int k = 0; k < count; k++) {
            const char *from =
                (const char *)src + ((size_t)k * (size_t)w->N + (size_t)p * PANEL) * element;
            copy_elements((char *)panel_at(w, p, k0 + k), w->dtype, from, src_dtype, n);
        }
    }
}

/* Columns n .. last - 1 of one panel from rows of src, CHUNK values of k at a time, so that the
 * cache lines written stay in the first level until they are complete. */
static void fill_columns(struct linear *w, const char *src, enum dtype src_dtype, int n, int last)
{
    enum { CHUNK = 64 };
    const size_t row = (size_t)w->K * (src_dtype == DTYPE_F16 ? 2 : 4);
    _Alignas(64) char part[CHUNK * 4];
    for (int k = 0; k < w->K; k += CHUNK) {
        size_t m = (size_t)(w->K - k < CHUNK ? w->K - k : CHUNK);
        const char *from = src + (size_t)k * (src_dtype == DTYPE_F16 ? 2 : 4);
        char *to = (char *)panel_at(w, n / PANEL, k);
        for (int i = n; i < last; i++, from += row) {
            copy_elements(part, w->dtype, from, src_dtype, m);
            size_t slot = (size_t)(i % PANEL);
            if (w->dtype == DTYPE_F16)
                for (size_t j = 0; j < m; j++)
                    ((uint16_t *)to)[j * PANEL + slot] = ((uint16_t *)part)[j];
            else
                for (size_t j = 0; j < m; j++)
                    ((float *)to)[j * PANEL + slot] = ((float *)part)[j];
        }
    }
}

void linear_fill_out_major(struct linear *w, const void *src, enum dtype src_dtype, int n0,
                           int count)
{
    const size_t row = (size_t)w->K * (src_dtype == DTYPE_F16 ? 2 : 4);
    const char *from = src;
    for (int n = n0, next; n < n0 + count; n = next) {
        next = (n / PANEL + 1) * PANEL;
        if (next > n0 + count)
            next = n0 + count;
        fill_columns(w, from, src_dtype, n, next);
        from += (size_t)(next - n) * row;
    }
}
