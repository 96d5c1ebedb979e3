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
    return a.used;
}

size_t attention_scratch_bytes(int D)
{
    struct attention_work s;
    return carve_work(&s, NULL, D);
}

/* next [next_bytes]: what is read after w, to be prefetched; NULL: nothing. */
static void multiply_tile(const struct attention_work *s, float *acc, size_t ldacc, bool fresh,
                          const float *x, int R, const char *w, size_t ldw, int K, int cols,
                          const char *next, size_t next_bytes)
{
    struct prefetch prefetch = {w, 0};
    if (next != NULL) {
        size_t step = (next_bytes / (size_t)K + 1) / 2 * 2;
        prefetch = (struct prefetch){next, step < 128 ? step : 128};
    }
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

/* Row r's weighted values of these keys. */
static void add_own_values(const struct attention_work *s, int r, struct keys k, const char *values,
                           size_t value_row)
{
    if (k.begin < k.end)
        multiply_tile(s, s->acc + (size_t)r * s->D16, s->D16, false,
                      s->scores + r * ATTENTION_BLOCK + k.begin, 1,
                      values + (size_t)k.begin * value_row, s->D16, k.end - k.begin, (int)s->D16,
                      NULL, 0);
}

/* The weighted values of the keys that all R rows see. */
static void add_common_values(const struct attention_work *s, int R, struct keys k,
                              const char *values, size_t value_row, const char *next)
{
    const size_t key_bytes = (size_t)s->a->D * value_row / s->D16 * ATTENTION_BLOCK;
    const float *weights = s->scores + k.begin;
    if (k.begin >= k.end)
        return;
    if (R > 1) {
        s->matrix->pack_rows(s->weights, weights, ATTENTION_BLOCK, R, k.end - k.begin);
        weights = s->weights;
    }
    multiply_tile(s, s->acc, s->D16, false, weights, R, values + (size_t)k.begin * value_row,
                  s->D16, k.end - k.begin, (int)s->D16, next, key_bytes);
}

/*
 * One page, which begins at position `page`, for R rows, of which row 0 is at position `first`.
 * next: the keys of the next page; mask: row 0's block of the dropout mask.
 */
static void attend_page(struct attention_work *s, const char *keys, const char *values,
                        const char *next, int R, int first, int page, uint64_t mask)
{
    const size_t value_row = s->D16 * (s->a->dtype == DTYPE_F16 ? 2 : 4);
    const struct keys top = keys_seen(s->a, first, page),
                      low = keys_seen(s->a, first + R - 1, page);
    multiply_tile(s, s->scores, ATTENTION_BLOCK, true, s->q, R, keys, ATTENTION_BLOCK, s->a->D,
                  ATTENTION_BLOCK, values, (size_t)low.end * value_row);
    for (int r = 0; r < R; r++)
        weigh_keys(s, r, keys_seen(s->a, first + r, page), mask + (uint64_t)r);
    /* Where no key is common to all rows, every key goes row by row, before an empty end. */
    struct keys common = {low.begin, top.end};
    if (common.begin >= common.end)
        common = (struct keys){ATTENTION_BLOCK, ATTENTION_BLOCK};
    for (int r = 0; r < R; r++) {
        const struct keys k = keys_seen(s->a, first + r, page);
        const int end = k.end < common.begin ? k.end : common.begin;
        add_own_values(s, r, (struct keys){k.begin, end}, values, value_row);
    }
    add_common_values(s, R, common, values, value_row, next);
    for (int r = 1; r < R; r++) {
        const struct keys k = keys_seen(s->a, first + r, page);
        add_own_values(s, r, (struct keys){common.end, k.end}, values, value_row);
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
    const struct row_kernels *row = row_kernels();
    const size_t D = (size_t)a->D, D16 = (D + 15) / 16 * 16;
    for (int i = 0; i < n; i++, k += ld, v += ld) {
        char *page = a->pages[(first + i) / ATTENTION_BLOCK];
        size_t slot = (size_t)((first + i) % ATTENTION_BLOCK);
        if (a->dtype == DTYPE_F32) {
            float *keys = (float *)(page + a->key_offset);
            memcpy((float *)(page + a->value_offset) + slot * D16, v, D * sizeof *v);
            for (size_t d = 0; d < D; d++)
                keys[d * ATTENTION_BLOCK + slot] = k[d];
            continue;
        }
        uint16_t *keys = (uint16_t *)(page + a->key_offset), part[64];
        /* Each element is in another cache line: prefetch all of them before the first store. */
        for (size_t d = 0; d < D; d++)
            __builtin_prefetch(keys + d * ATTENTION_BLOCK + slot, 1);
        row->half_from_f32((uint16_t *)(page + a->value_offset) + slot * D16, v, D);
        for (size_t d = 0; d < D; d += 64) {
            size_t m = D - d < 64 ? D - d : 64;
            row->half_from_f32(part, k + d, m);
            for (size_t j = 0; j < m; j++)
                keys[(d + j) * ATTENTION_BLOCK + slot] = part[j];
        }
    }
}
