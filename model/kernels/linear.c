/*
 * A thread's share is some columns, and with many rows and threads some rows. One row streams whole
 * panels (row_f16, row_f32). Several rows, up to ROWS at a time, are packed once into row tiles and
 * meet W in this order of loops:
 *
 *   group of panels (1, or GROUP with many tiles)
 *     part of K, some hundred rows of a panel at most (matrix_kernels.h)
 *       panel of the group
 *         tile_cols columns of the panel
 *           row tile: the first widens the part to fp32 into `strip`, the others read strip,
 *           unless there are so few that each converts W itself (widen_tiles)
 *
 * strip stays in the first two caches; while it is in use, the tiles prefetch the next part. With
 * many tiles the group lets packed x come from the second-level cache; the sums of a group wait in
 * `acc` between the parts of K, which does not change their order.
 *
 * Groups, and runs of panels for one row, are items that a thread which waits may take over
 * (par_items), so strip and acc are on the stack of who computes one.
 */
#include "model/kernels/linear.h"

#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/product.h"
#include "model/kernels/row_kernels.h"

#include <math.h>
#include <string.h>

enum { ROWS = 256, GROUP = 4, SEVERAL_TILES = 2, MANY_TILES = 4 };
enum { WIDE = 32, HALF = 16 }; /* columns of a thread's share come in these units */

struct linear_work {
    const struct matrix_kernels *k;
    const struct linear *w;
    int T, n_tiles, n_parts;
    int c0, c1, width;   /* the share's columns, and of an item */
    const float *x;      /* one row, which is not packed; else NULL */
    const float *packed; /* row tile after row tile, each [K,R] */
    float *y;
    size_t ldy;
    enum epilogue epilogue;
    float *acc;   /* of an item: [GROUP][T][64] */
    float *strip; /* of an item: [part][tile_cols] */
};

/* Bytes of n rows of a panel; of Q8_0, whole blocks. */
static size_t rows_bytes(enum dtype dtype, int n)
{
    if (dtype == DTYPE_Q8)
        return (size_t)n / Q8_BLOCK * sizeof(struct q8_panel);
    return (size_t)n * PANEL * (dtype == DTYPE_F16 ? 2 : 4);
}

size_t linear_bytes(enum dtype dtype, int K, int N)
{
    return (size_t)linear_panels(N) * rows_bytes(dtype, K);
}

enum dtype linear_dtype(enum dtype dtype, int K)
{
    return dtype == DTYPE_Q8 && K % Q8_BLOCK != 0 ? DTYPE_F16 : dtype;
}

size_t linear_scratch_bytes(int max_k)
{
    const size_t packed = sizeof(float) * ROWS * (size_t)max_k, plain = product_scratch_bytes();
    return packed > plain ? packed : plain;
}

/* Row k of a panel; of Q8_0, the block that begins there. */
static const char *panel_at(const struct linear *w, int panel, int k)
{
    return (const char *)w->data + (size_t)panel * rows_bytes(w->dtype, w->K) +
           rows_bytes(w->dtype, k);
}

/* Part i of K, the rows of a panel that are widened at once. */
static void part_span(const struct linear_work *s, int i, int *first, int *last)
{
    const int unit = s->w->dtype == DTYPE_Q8 ? Q8_BLOCK : 1;
    par_split(s->w->K / unit, i, s->n_parts, first, last);
    *first *= unit;
    *last *= unit;
}

/* K rows of W at w, in a panel, from column `col` on, as tile_f16 and the others take them. */
static void multiply_tile(const struct linear_work *s, float *acc, size_t ldacc, bool fresh,
                          const float *x, int R, const char *w, int col, int K, int cols,
                          float *wide, struct prefetch prefetch)
{
    const void *rows = w;
    const size_t ldx = (size_t)R;
    if (s->w->dtype == DTYPE_Q8)
        s->k->tile_q8(acc, ldacc, fresh, x, ldx, R, rows, col, K, cols, wide, prefetch);
    else if (s->w->dtype == DTYPE_F16)
        s->k->tile_f16(acc, ldacc, fresh, x, ldx, R, (const uint16_t *)rows + col, PANEL, K, cols,
                       wide, prefetch);
    else
        s->k->tile_f32(acc, ldacc, fresh, x, ldx, R, (const float *)rows + col, PANEL, K, cols,
                       wide, prefetch);
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
    const size_t bytes = rows_bytes(s->w->dtype, K) / (size_t)K; /* of a row of the panel */
    int R, first, width;
    tile_span(s, 0, &first, &R);
    width = R <= s->k->wide_rows && s->n_tiles == 1 ? hi - lo : s->k->tile_cols;
    const bool widen = s->n_tiles >= (s->w->dtype == DTYPE_F16 ? s->k->widen_tiles : SEVERAL_TILES);
    const size_t calls = (size_t)((hi - lo + width - 1) / width * s->n_tiles);
    struct prefetch prefetch = {next, (bytes / 2 + calls - 1) / calls * 2};
    if (prefetch.step > 128)
        prefetch.step = 128;
    if (s->k->hardware_prefetch && width == PANEL)
        prefetch.step = 0; /* the next part follows in memory */
    for (int col = lo; col < hi; col += width) {
        width = hi - col < width ? hi - col : width;
        for (int i = 0; i < s->n_tiles; i++) {
            tile_span(s, i, &first, &R);
            const float *x = s->packed + (size_t)first * (size_t)s->w->K + (size_t)k0 * (size_t)R;
            float *sums = acc + (size_t)first * PANEL + col;
            if (widen && i > 0)
                s->k->tile_f32(sums, PANEL, k0 == 0, x, (size_t)R, R, s->strip, (size_t)width, K,
                               width, NULL, prefetch);
            else
                multiply_tile(s, sums, PANEL, k0 == 0, x, R, w, col, K, width,
                              widen ? s->strip : NULL, prefetch);
            prefetch.at = (const char *)prefetch.at + prefetch.step * (size_t)K;
        }
    }
}

/* Rows first .. first + count - 1 of columns c0 .. c1 - 1, all in one panel, whose sums are at acc.
 */
static void write_sums(const struct linear_work *s, const float *acc, int first, int count, int c0,
                       int c1)
{
    const size_t row = (size_t)first;
    if (c1 > s->w->N)
        c1 = s->w->N;
    s->k->epilogue(s->y + row * s->ldy + c0, s->ldy, acc + row * PANEL + c0 % PANEL, PANEL,
                   s->w->bias == NULL ? NULL : s->w->bias + c0, count, (size_t)(c1 - c0),
                   s->epilogue);
}

/* The sums of a group, a few rows at a time, so that each row of y gets all of its columns at once:
 * rows are far apart. */
static void write_group(const struct linear_work *s, int c0, int c1)
{
    enum { FEW = 8 };
    for (int first = 0; first < s->T; first += FEW) {
        const int count = s->T - first < FEW ? s->T - first : FEW;
        const float *acc = s->acc;
        for (int from = c0, to; from < c1; from = to, acc += (size_t)s->T * PANEL) {
            to = (from / PANEL + 1) * PANEL;
            write_sums(s, acc, first, count, from, to < c1 ? to : c1);
        }
    }
}

/* Columns c0 .. c1 - 1, whole units of at most GROUP panels, for all rows of s. */
static void multiply_group(const struct linear_work *s, int c0, int c1)
{
    const int panels = (c1 + PANEL - 1) / PANEL - c0 / PANEL, p0 = c0 / PANEL;
    const size_t acc_panel = (size_t)s->T * PANEL;
    for (int step = 0; step < s->n_parts * panels; step++) {
        int p = step % panels, k0, k1, next_k0, next_k1, next = step + 1;
        int lo = p == 0 ? c0 % PANEL : 0, hi = c1 - (p0 + p) * PANEL;
        part_span(s, step / panels, &k0, &k1);
        part_span(s, next / panels, &next_k0, &next_k1);
        const char *after = next == s->n_parts * panels
                                ? panel_at(s->w, p0 + panels, 0)
                                : panel_at(s->w, p0 + next % panels, next_k0);
        multiply_part(s, s->acc + (size_t)p * acc_panel, panel_at(s->w, p0 + p, k0), after, k0,
                      k1 - k0, lo, hi < PANEL ? hi : PANEL);
    }
    write_group(s, c0, c1);
}

/* One row times whole panels that begin at w. */
static void multiply_panels(const struct linear_work *s, const char *w, int panels)
{
    const void *rows = w;
    if (s->w->dtype == DTYPE_Q8)
        s->k->row_q8(s->acc, s->x, rows, s->w->K, panels);
    else if (s->w->dtype == DTYPE_F16)
        s->k->row_f16(s->acc, s->x, rows, s->w->K, panels);
    else
        s->k->row_f32(s->acc, s->x, rows, s->w->K, panels);
}

/* One row: as many whole panels at once as acc holds, and a share's parts of panels as tiles. */
static void multiply_row(const struct linear_work *s, int c0, int c1)
{
    if (s->w->bias != NULL)
        prefetch_floats(s->w->bias + c0, (size_t)(c1 - c0));
    for (int col = c0, next; col < c1; col = next) {
        const char *w = panel_at(s->w, col / PANEL, 0);
        int whole = (c1 - col) / PANEL, lo = col % PANEL;
        if (lo == 0 && whole > 0) {
            whole = whole < GROUP * ROWS ? whole : GROUP * ROWS;
            next = col + whole * PANEL;
            multiply_panels(s, w, whole);
        } else {
            next = col - lo + PANEL < c1 ? col - lo + PANEL : c1;
            multiply_tile(s, s->acc + lo, 0, true, s->x, 1, w, lo, s->w->K, next - col, NULL,
                          (struct prefetch){w + 1024, s->k->hardware_prefetch ? 0 : 128});
        }
        write_sums(s, s->acc, 0, 1, col, next);
    }
}

/* Where item i of the share begins: a whole number of panels from the first one's edge. */
static int item_column(const struct linear_work *s, int i)
{
    const int col = s->c0 - s->c0 % PANEL + i * s->width;
    return i == 0 ? s->c0 : col < s->c1 ? col : s->c1;
}

static void multiply_item(void *arg, int i)
{
    _Alignas(64) float acc[GROUP * ROWS * PANEL], strip[STRIP_FLOATS];
    struct linear_work s = *(const struct linear_work *)arg;
    const int c0 = item_column(&s, i), c1 = item_column(&s, i + 1);
    s.acc = acc;
    s.strip = strip;
    if (s.x != NULL)
        multiply_row(&s, c0, c1);
    else
        multiply_group(&s, c0, c1);
}

/* All columns of the share, in items of so many panels. */
static void multiply_items(struct linear_work *s, int panels)
{
    s->width = panels * PANEL;
    par_items(multiply_item, s, (s->c1 - s->c0 / PANEL * PANEL + s->width - 1) / s->width);
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

/* The columns of the largest of n shares, in whole units. */
static int largest_share(int N, int n, int unit)
{
    return ((N + unit - 1) / unit + n - 1) / n * unit;
}

/* This thread's columns c0 .. c1 - 1 of N, for T rows. WIDE columns are faster, but where they do
 * not divide evenly the threads with fewer would wait. One row's time is memory's, in whole lines;
 * it is best in whole panels, where that makes no share larger. The last panel is read to its end:
 * from a cache, a part of one takes as long. */
static void share_columns(int N, int T, int thread, int n_threads, int *c0, int *c1)
{
    const int even = (N + WIDE - 1) / WIDE % n_threads == 0;
    int unit = even || T == 1 ? WIDE : HALF;
    if (T == 1 && largest_share(N, n_threads, PANEL) <= largest_share(N, n_threads, WIDE))
        unit = PANEL;
    par_split((N + unit - 1) / unit, thread, n_threads, c0, c1);
    *c0 *= unit;
    *c1 *= unit;
    if (T == 1 && *c1 > *c0 && *c1 >= N)
        *c1 = linear_panels(N) * PANEL;
}

/* By how many threads the rows are divided, a divisor of their number: where a share costs least.
 * To pack an element of x costs as much as PACK multiply-adds, to widen one of W as much as WIDEN.
 */
static int choose_down(int T, int N, int n_threads)
{
    enum { LEAST = 64 /* rows of a share; weights of few rows come from memory, so only once */ };
    enum { PACK = 16, WIDEN = 8 };
    int best = 1;
    double least = 0;
    for (int down = 1; down <= n_threads && (down == 1 || T >= down * LEAST); down++) {
        const int across = n_threads / down;
        if (n_threads % down != 0)
            continue;
        const double rows = (T + down - 1) / down,
                     cols = ((N + HALF - 1) / HALF + across - 1) / across * (double)HALF;
        const double cost = rows * cols + PACK * rows + WIDEN * cols * ceil(rows / ROWS);
        if (down == 1 || cost < least) {
            least = cost;
            best = down;
        }
    }
    return best;
}

/* Several rows of x [T,K], ROWS at a time. */
static void multiply_rows(struct linear_work *s, const float *x, size_t ldx, int T, float *packed)
{
    const size_t K = (size_t)s->w->K;
    s->packed = packed;
    for (int t = 0; t < T; t += ROWS, s->y += ROWS * s->ldy) {
        s->T = T - t < ROWS ? T - t : ROWS;
        s->n_tiles = (s->T + s->k->tile_rows - 1) / s->k->tile_rows;
        for (int i = 0; i < s->n_tiles; i++) {
            int first, R;
            tile_span(s, i, &first, &R);
            s->k->pack_rows(packed + (size_t)first * K, x + (size_t)(t + first) * ldx, ldx, R,
                            s->w->K);
        }
        multiply_items(s, s->n_tiles > MANY_TILES ? GROUP : 1);
    }
}

/* Panels of an item of one row: not too few, since memory is slow where a run of it begins, and a
 * multiple of the streams that a kernel may have. */
static int row_item(const struct linear_work *s)
{
    enum { STREAMS = 3, ITEMS = 8 };
    const int panels = (s->c1 - s->c0) / PANEL;
    return (panels / ITEMS / STREAMS + 1) * STREAMS;
}

void linear_rows(const struct linear *w, float *y, size_t ldy, const float *x, size_t ldx, int T,
                 enum epilogue epilogue, int thread, int n_threads, void *scratch)
{
    if (w->layout != LINEAR_PANELS) {
        multiply_plain(w, y, ldy, x, ldx, T, epilogue, thread, n_threads, scratch);
        return;
    }
    profile_work(2.0 * T * w->K * w->N / n_threads, ((double)linear_bytes(w->dtype, w->K, w->N) +
                                                     (double)sizeof(float) * T * (w->K + w->N)) /
                                                        n_threads);
    const int down = choose_down(T, w->N, n_threads), across = n_threads / down;
    int c0, c1, first, last;
    share_columns(w->N, T, thread % across, across, &c0, &c1);
    par_split(T, thread / across, down, &first, &last);
    if (c0 == c1 || first == last)
        return;
    const struct matrix_kernels *k = matrix_kernels();
    struct linear_work s = {.k = k,
                            .w = w,
                            .n_parts = (w->K + k->part - 1) / k->part,
                            .c0 = c0,
                            .c1 = c1,
                            .y = y + (size_t)first * ldy,
                            .ldy = ldy,
                            .epilogue = epilogue};
    if (T == 1) {
        s.T = 1;
        s.x = x;
        prefetch_floats(x, (size_t)w->K);
        multiply_items(&s, row_item(&s));
    } else {
        multiply_rows(&s, x + (size_t)first * ldx, ldx, last - first, scratch);
    }
}
