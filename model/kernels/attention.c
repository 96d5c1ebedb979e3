/*
 * Query rows are processed in tiles of R rows, and each tile page by page. In the pages before the
 * tile's own positions all rows see all 64 keys, and one matrix tile multiplies the weights by the
 * values. In the last page or two the rows see different numbers of keys:
 *
 *               keys of the page
 *               common      own
 *   row 0       x x x x x x
 *   row 1       x x x x x x x
 *   row 2       x x x x x x x x
 *
 * The keys that row 0 sees, `common`, go through one tile; the rest of each row goes alone. Every
 * row still adds its values in the order of positions.
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

/* How many keys of a page row r of a tile sees, where row 0 sees `first` (perhaps negative). */
static int keys_seen(int first, int r)
{
    int c = first + r;
    return c < 0 ? 0 : c > ATTENTION_BLOCK ? ATTENTION_BLOCK : c;
}

/*
 * One page for R rows, of which row 0 sees first_seen keys. next: the keys of the next page; mask:
 * row 0's block of the dropout mask.
 */
static void attend_page(struct attention_work *s, const char *keys, const char *values,
                        const char *next, int R, int first_seen, uint64_t mask)
{
    const size_t element = s->a->dtype == DTYPE_F16 ? 2 : 4, value_row = s->D16 * element;
    const size_t key_bytes = (size_t)s->a->D * ATTENTION_BLOCK * element;
    multiply_tile(s, s->scores, ATTENTION_BLOCK, true, s->q, R, keys, ATTENTION_BLOCK, s->a->D,
                  ATTENTION_BLOCK, values, (size_t)keys_seen(first_seen, R - 1) * value_row);
    for (int r = 0; r < R; r++) {
        float *row = s->scores + r * ATTENTION_BLOCK;
        int c = keys_seen(first_seen, r);
        if (c == 0)
            continue;
        float ratio = s->softmax->softmax_block(row, c, s->a->scale, &s->m[r], &s->sum[r]);
        s->row->scale(s->acc + (size_t)r * s->D16, ratio, s->D16);
        if (s->a->dropout != NULL)
            training_kernels()->dropout(row, row, (size_t)c, s->a->dropout, s->a->stream,
                                        mask + (uint64_t)r);
    }
    int common = keys_seen(first_seen, 0);
    if (common > 0) {
        const float *weights = s->scores;
        if (R > 1) {
            s->matrix->pack_rows(s->weights, s->scores, ATTENTION_BLOCK, R, common);
            weights = s->weights;
        }
        multiply_tile(s, s->acc, s->D16, false, weights, R, values, s->D16, common, (int)s->D16,
                      next, key_bytes);
    }
    for (int r = 1; r < R; r++) {
        int own = keys_seen(first_seen, r) - common;
        if (own > 0)
            multiply_tile(s, s->acc + (size_t)r * s->D16, s->D16, false,
                          s->scores + r * ATTENTION_BLOCK + common, 1,
                          values + (size_t)common * value_row, s->D16, own, (int)s->D16, NULL, 0);
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
        for (int p = 0; p <= last_page; p++) {
            const char *here = a->pages[p];
            attend_page(&s, here + a->key_offset, here + a->value_offset,
                        p < last_page ? a->pages[p + 1] + a->key_offset : a->prefetch, R,
                        first - p * ATTENTION_BLOCK + 1,
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
