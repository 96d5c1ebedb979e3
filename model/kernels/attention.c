/*
 * Query rows are processed in tiles of R rows, and each tile page by page. In the pages before the
 * tile's own positions all rows see all 64 keys, and one matrix tile multiplies the weights by the
 * values. In the last page or two, and with a window in the first, the rows see different keys:
 *
 *               keys of the page
 *                own   common    own
 *   row 0       x x x x x x x
 *   row 1         x x x x x x x
 *   row 2           x x x x x x x
 *
 * The keys that all rows see, `common`, go through one tile; those before and after them go row by
 * row. Every row still adds its values in the order of positions.
 */
#include "model/kernels/attention.h"

#include "model/base/mem.h"
#include "model/kernels/attention_kernels.h"
#include "model/kernels/attention_q8.h"
#include "model/kernels/row_kernels.h"
#include "model/kernels/training_kernels.h"

#include <math.h>
#include <string.h>

/* A tile of R rows. */
struct attention_work {
    const struct matrix_kernels *matrix;
    const struct row_kernels *row;
    const struct attention_kernels *softmax;
    const struct attention *a;
    size_t D16;
    float *q;       /* [D,R] */
    float *scores;  /* [R,64] */
    float *weights; /* [64,R]: scores after softmax, transposed */
    float *acc;     /* [R,D16] */
    void *q8;       /* scratch of attention_q8.h */
    float m[TILE_MAX_ROWS], sum[TILE_MAX_ROWS];
};

static size_t carve_work(struct attention_work *s, void *scratch, int D)
{
    struct arena a = {.base = scratch};
    s->D16 = ((size_t)D + 15) / 16 * 16;
    s->q = arena_take(&a, sizeof(float) * TILE_MAX_ROWS * (size_t)D);
    s->scores = arena_take(&a, sizeof(float) * TILE_MAX_ROWS * ATTENTION_BLOCK);
    s->weights = arena_take(&a, sizeof(float) * TILE_MAX_ROWS * ATTENTION_BLOCK);
    s->acc = arena_take(&a, sizeof(float) * TILE_MAX_ROWS * s->D16);
    s->q8 = arena_take(&a, attention_q8_scratch_bytes());
    return a.used;
}

size_t attention_scratch_bytes(int D)
{
    struct attention_work s;
    return carve_work(&s, NULL, D);
}

/* Of next [bytes], what is read after this, in K steps; next NULL: nothing. */
static struct prefetch prefetch_next(const char *next, size_t bytes, int K)
{
    const size_t step = (bytes / (size_t)K + 1) / 2 * 2;
    if (next == NULL)
        return (struct prefetch){"", 0};
    return (struct prefetch){next, step < 128 ? step : 128};
}

static void multiply_tile(const struct attention_work *s, float *acc, size_t ldacc, bool fresh,
                          const float *x, int R, const char *w, size_t ldw, int K, int cols,
                          struct prefetch prefetch)
{
    if (s->a->dtype == DTYPE_F16)
        s->matrix->tile_f16(acc, ldacc, fresh, x, (size_t)R, R, (const uint16_t *)w, ldw, K, cols,
                            NULL, prefetch);
    else
        s->matrix->tile_f32(acc, ldacc, fresh, x, (size_t)R, R, (const float *)w, ldw, K, cols,
                            NULL, prefetch);
}

/* The keys begin .. end - 1 of a page; none if begin >= end. */
struct keys {
    int begin, end;
};

/* Those that the row at `position` sees, of a page that begins at position `page`. */
static struct keys keys_seen(const struct attention *a, int position, int page)
{
    const int end = position + 1 - page, begin = a->window == 0 ? 0 : end - a->window;
    return (struct keys){begin < 0 ? 0 : begin, end > ATTENTION_BLOCK ? ATTENTION_BLOCK : end};
}

/* Scores of row r to weights, and what it accumulated so far scaled accordingly. block: of its
 * dropout mask. */
static void weigh_keys(struct attention_work *s, int r, struct keys k, uint64_t block)
{
    float *row = s->scores + r * ATTENTION_BLOCK;
    if (k.begin >= k.end)
        return;
    for (int j = 0; j < k.begin; j++)
        row[j] = -INFINITY;
    float ratio = s->softmax->softmax_block(row, k.end, s->a->scale, &s->m[r], &s->sum[r]);
    s->row->scale(s->acc + (size_t)r * s->D16, ratio, s->D16);
    if (s->a->dropout != NULL)
        training_kernels()->dropout(row, row, (size_t)k.end, s->a->dropout, s->a->stream, block);
}

/* scores of R rows with a page's keys. */
static void score_keys(const struct attention_work *s, int R, const char *keys,
                       struct prefetch prefetch)
{
    if (s->a->dtype == DTYPE_Q8)
        attention_q8_scores(s->scores, s->q, R, keys, s->a->D, prefetch, s->q8);
    else
        multiply_tile(s, s->scores, ATTENTION_BLOCK, true, s->q, R, keys, ATTENTION_BLOCK, s->a->D,
                      ATTENTION_BLOCK, prefetch);
}

/* The weighted values of keys that all R rows from `row` on see. */
static void add_values(const struct attention_work *s, int row, int R, struct keys k,
                       const char *values, struct prefetch prefetch)
{
    float *acc = s->acc + (size_t)row * s->D16;
    const float *weights = s->scores + row * ATTENTION_BLOCK;
    if (k.begin >= k.end)
        return;
    if (s->a->dtype == DTYPE_Q8) {
        attention_q8_values(acc, weights, R, values, (int)s->D16, k.begin, k.end, prefetch, s->q8);
        return;
    }
    weights += k.begin;
    if (R > 1) {
        s->matrix->pack_rows(s->weights, weights, ATTENTION_BLOCK, R, k.end - k.begin);
        weights = s->weights;
    }
    values += (size_t)k.begin * s->D16 * dtype_bytes(s->a->dtype);
    multiply_tile(s, acc, s->D16, false, weights, R, values, s->D16, k.end - k.begin, (int)s->D16,
                  prefetch);
}

/*
 * One page, which begins at position `page`, for R rows, of which row 0 is at position `first`.
 * next: the keys of the next page; mask: row 0's block of the dropout mask.
 */
static void attend_page(struct attention_work *s, const char *keys, const char *values,
                        const char *next, int R, int first, int page, uint64_t mask)
{
    const struct prefetch none = {values, 0};
    const size_t key_bytes = attention_key_bytes(s->a->dtype, s->a->D),
                 value_bytes = attention_value_bytes(s->a->dtype, s->a->D);
    const struct keys top = keys_seen(s->a, first, page),
                      low = keys_seen(s->a, first + R - 1, page);
    score_keys(s, R, keys,
               prefetch_next(values, value_bytes * (size_t)low.end / ATTENTION_BLOCK, s->a->D));
    for (int r = 0; r < R; r++)
        weigh_keys(s, r, keys_seen(s->a, first + r, page), mask + (uint64_t)r);
    /* Where no key is common to all rows, every key goes row by row, before an empty end. */
    struct keys common = {low.begin, top.end};
    if (common.begin >= common.end)
        common = (struct keys){ATTENTION_BLOCK, ATTENTION_BLOCK};
    for (int r = 0; r < R; r++) {
        const struct keys k = keys_seen(s->a, first + r, page);
        const int end = k.end < common.begin ? k.end : common.begin;
        add_values(s, r, 1, (struct keys){k.begin, end}, values, none);
    }
    if (common.begin < common.end)
        add_values(s, 0, R, common, values,
                   prefetch_next(next, key_bytes, common.end - common.begin));
    for (int r = 1; r < R; r++) {
        const struct keys k = keys_seen(s->a, first + r, page);
        add_values(s, r, 1, (struct keys){common.end, k.end}, values, none);
    }
}

void attention_rows(const struct attention *a, float *out, size_t ldo, const float *q, size_t ldq,
                    int n, int first, void *scratch)
{
    struct attention_work s = {
        .matrix = matrix_kernels(), .row = row_kernels(), .softmax = attention_kernels(), .a = a};
    carve_work(&s, scratch, a->D);
    float *lse = a->lse;
    for (int R; n > 0; n -= R, first += R, q += (size_t)R * ldq, out += (size_t)R * ldo) {
        /* Tiles of equal size, or nearly. */
        int tiles = (n + s.matrix->tile_rows - 1) / s.matrix->tile_rows;
        R = (n + tiles - 1) / tiles;
        s.matrix->pack_rows(s.q, q, ldq, R, a->D);
        memset(s.acc, 0, sizeof(float) * (size_t)R * s.D16);
        for (int r = 0; r < R; r++) {
            s.m[r] = -INFINITY;
            s.sum[r] = 0;
        }
        int last_page = (first + R - 1) / ATTENTION_BLOCK;
        for (int p = attention_first_page(a, first); p <= last_page; p++) {
            const char *here = a->pages[p];
            attend_page(&s, here + a->key_offset, here + a->value_offset,
                        p < last_page ? a->pages[p + 1] + a->key_offset : a->prefetch, R, first,
                        p * ATTENTION_BLOCK,
                        a->mask + (uint64_t)p * (uint64_t)a->n_ctx + (uint64_t)first);
        }
        for (int r = 0; r < R; r++)
            s.row->divide(out + (size_t)r * ldo, s.acc + (size_t)r * s.D16, s.sum[r], (size_t)a->D);
        if (lse == NULL)
            continue;
        for (int r = 0; r < R; r++, lse += a->ld_lse)
            *lse = s.m[r] + logf(s.sum[r]);
    }
}

void attention_store(const struct attention *a, const float *k, const float *v, size_t ld, int n,
                     int first)
{
    for (int i = first; i < first + n; i++, k += ld, v += ld) {
        char *page = a->pages[i / ATTENTION_BLOCK];
        attention_page_store(a->dtype, a->D, page + a->key_offset, page + a->value_offset, k, v,
                             i % ATTENTION_BLOCK);
    }
}
