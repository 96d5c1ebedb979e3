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

/* A tile of R rows, or one row of R heads. */
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

/* Of next [bytes], what is read after this, in K steps; next NULL or no bytes: nothing. */
static struct prefetch prefetch_next(const char *next, size_t bytes, int K)
{
    const size_t step = (bytes / (size_t)K + 1) / 2 * 2;
    if (next == NULL || bytes == 0)
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

/* How many keys of a page lie in one cache line. */
static int line_keys(enum dtype dtype)
{
    return dtype == DTYPE_F32 ? 16 : dtype == DTYPE_F16 ? 32 : 64;
}

/* scores [R,64] of packed rows q with the first n keys of a page; those of the others are
 * undefined. */
static void score_keys(const struct attention_work *s, float *scores, const float *q, int R,
                       const char *keys, int n, struct prefetch prefetch)
{
    const int line = line_keys(s->a->dtype);
    if (s->a->dtype == DTYPE_Q8)
        attention_q8_scores(scores, q, R, keys, s->a->D, prefetch, s->q8);
    else
        multiply_tile(s, scores, ATTENTION_BLOCK, true, q, R, keys, ATTENTION_BLOCK, s->a->D,
                      n <= line ? line : ATTENTION_BLOCK, prefetch);
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
    score_keys(s, s->scores, s->q, R, keys, low.end,
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

/* Nothing is accumulated yet. */
static void begin_rows(struct attention_work *s, int R)
{
    memset(s->acc, 0, sizeof(float) * (size_t)R * s->D16);
    for (int r = 0; r < R; r++) {
        s->m[r] = -INFINITY;
        s->sum[r] = 0;
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
        begin_rows(&s, R);
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

/* Head h's keys in a page, and its values. */
static char *keys_of(const struct attention *a, char *page, int h)
{
    return page + a->key_offset + (size_t)h * attention_key_bytes(a->dtype, a->D);
}

static char *values_of(const struct attention *a, char *page, int h)
{
    return page + a->value_offset + (size_t)h * attention_value_bytes(a->dtype, a->D);
}

/* Store head h's new key and value at `slot`. */
static void store_new(const struct attention *a, char *page, const struct attention_row *new, int h,
                      int slot)
{
    attention_page_store(a->dtype, a->D, keys_of(a, page, h), values_of(a, page, h),
                         new->k + h * a->D, new->v + h * a->D, slot);
}

/* The score of the key at `slot` anew, with those of its register; not in q8. */
static void score_slot(const struct attention_work *s, float *scores, const float *q,
                       const char *keys, int slot)
{
    enum { LANES = 16 };
    const int col = slot / LANES * LANES;
    multiply_tile(s, scores + col, ATTENTION_BLOCK, true, q, 1,
                  keys + (size_t)col * dtype_bytes(s->a->dtype), ATTENTION_BLOCK, s->a->D, LANES,
                  (struct prefetch){keys, 0});
}

/*
 * Scores of head h of n in the newest page, where the new row is stored at `slot`. That touches a
 * line for each of a key's elements. Where the scores read no other lines, store_first, the next
 * head's are fetched by storing it; else they come faster in order, by the scores, and are then at
 * hand.
 */
static void score_and_store(const struct attention_work *s, const struct attention_row *new,
                            char *page, int h, int n, int slot, bool store_first,
                            struct prefetch ahead)
{
    const struct attention *a = s->a;
    float *scores = s->scores + h * ATTENTION_BLOCK;
    const float *q = new->q + h * a->D;
    const char *keys = keys_of(a, page, h);
    if (store_first && h == 0)
        store_new(a, page, new, 0, slot);
    if (store_first && h + 1 < n)
        store_new(a, page, new, h + 1, slot);
    score_keys(s, scores, q, 1, keys, slot + 1, ahead);
    if (!store_first) {
        store_new(a, page, new, h, slot);
        score_slot(s, scores, q, keys, slot);
    }
}

/* One page, which begins at position `first`, for one row of n heads; next: the keys that follow.
 * A long run of memory is prefetched by the hardware where that is faster. */
static void attend_heads(struct attention_work *s, const struct attention_row *new, char *page,
                         const char *next, int n, int position, int first)
{
    const struct attention *a = s->a;
    const struct keys k = keys_seen(a, position, first);
    const int slot = position - first;
    const bool newest = slot < ATTENTION_BLOCK, store_first = slot < line_keys(a->dtype),
               own = s->matrix->hardware_prefetch;
    const size_t key_bytes = own ? 0 : attention_key_bytes(a->dtype, a->D);
    size_t value_bytes = attention_value_bytes(a->dtype, a->D) * (size_t)k.end / ATTENTION_BLOCK;
    if (own && k.end == ATTENTION_BLOCK)
        value_bytes = 0;
    for (int h = 0; h < n; h++) {
        const struct prefetch ahead =
            h + 1 < n ? prefetch_next(keys_of(a, page, h + 1), store_first ? 0 : key_bytes, a->D)
                      : prefetch_next(values_of(a, page, 0), value_bytes, a->D);
        if (newest)
            score_and_store(s, new, page, h, n, slot, store_first, ahead);
        else
            score_keys(s, s->scores + h * ATTENTION_BLOCK, new->q + h * a->D, 1,
                       keys_of(a, page, h), k.end, ahead);
        weigh_keys(s, h, k, 0);
    }
    for (int h = 0; h < n; h++)
        add_values(s, h, 1, k, values_of(a, page, h),
                   h + 1 < n
                       ? prefetch_next(values_of(a, page, h + 1), value_bytes, k.end - k.begin)
                       : prefetch_next(next, key_bytes, k.end - k.begin));
}

void attention_step(const struct attention *a, float *out, const struct attention_row *new, int n,
                    int position, void *scratch)
{
    struct attention_work s = {
        .matrix = matrix_kernels(), .row = row_kernels(), .softmax = attention_kernels(), .a = a};
    const int last = position / ATTENTION_BLOCK;
    carve_work(&s, scratch, a->D);
    begin_rows(&s, n);
    for (int p = attention_first_page(a, position); p <= last; p++)
        attend_heads(&s, new, a->pages[p], p < last ? a->pages[p + 1] + a->key_offset : a->prefetch,
                     n, position, p * ATTENTION_BLOCK);
    for (int h = 0; h < n; h++)
        s.row->divide(out + h * a->D, s.acc + (size_t)h * s.D16, s.sum[h], (size_t)a->D);
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
