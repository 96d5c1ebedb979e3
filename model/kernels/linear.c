#include "model/kernels/linear.h"

#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/par.h"

#include <string.h>

/*
 * Many rows: ROWS at a time, packed once. For each GROUP of panels and each PART of K
 * the panel's part is widened into strips as wide as a tile (a strip stays in the
 * first-level cache), and all row tiles run over it; their sums wait in `acc` (second
 * level) for the next part. Few rows: no widening, panel after panel as memory gives
 * them.
 */
enum { ROWS = 256, GROUP = 4, PART = 256, UNIT = 32 /* columns a thread's share comes in */ };
enum { FEW_TILES = 2, AHEAD_BYTES = 4096 };

struct work {
    const struct kernels *k;
    const struct linear *w;
    int T, n_tiles;
    float *packed; /* tile after tile, each [K,R] */
    float *acc;    /* [GROUP][T][64] */
    float *strips; /* [64 / tile_cols][PART][tile_cols] */
};

size_t linear_bytes(enum linear_kind kind, int K, int N)
{
    return (size_t)linear_panels(N) * (size_t)K * PANEL * (kind == LINEAR_F16 ? 2 : 4);
}

static size_t carve(struct work *s, void *scratch, int max_k)
{
    struct arena a = {.base = scratch};
    s->acc = arena_take(&a, sizeof(float) * GROUP * ROWS * PANEL);
    s->strips = arena_take(&a, sizeof(float) * PART * PANEL);
    s->packed = arena_take(&a, sizeof(float) * ROWS * (size_t)max_k);
    return a.used;
}

size_t linear_scratch_bytes(int max_k)
{
    struct work s;
    return carve(&s, NULL, max_k);
}

static const char *at(const struct linear *w, int panel, int k)
{
    size_t element = w->kind == LINEAR_F16 ? 2 : 4;
    return (const char *)w->panels + ((size_t)panel * (size_t)w->K + (size_t)k) * PANEL * element;
}

/* Rows of tile i. */
static void rows_of(const struct work *s, int i, int *first, int *count)
{
    int last;
    par_split(s->T, i, s->n_tiles, first, &last);
    *count = last - *first;
}

/* One tile's K values from k0 on, its columns lo..hi of the panel straight from memory. */
static void tile_direct(const struct work *s, float *acc, const float *x, int R, int panel, int k0,
                        int K, int lo, int hi, const char *ahead)
{
    const char *w = at(s->w, panel, k0);
    if (s->w->kind == LINEAR_F16)
        s->k->tile_f16(acc + lo, PANEL, k0 == 0, x, R, (const uint16_t *)w + lo, PANEL, K, hi - lo,
                       ahead);
    else
        s->k->tile_f32(acc + lo, PANEL, k0 == 0, x, R, (const float *)w + lo, PANEL, K, hi - lo,
                       ahead);
}

static void part_few(const struct work *s, float *acc, int panel, int k0, int K, int lo, int hi)
{
    const char *ahead = at(s->w, panel, k0 + K); /* the next part, or panel */
    for (int i = 0; i < s->n_tiles; i++) {
        int first, R;
        rows_of(s, i, &first, &R);
        const float *x = s->packed + (size_t)first * (size_t)s->w->K + (size_t)k0 * (size_t)R;
        int step = R <= s->k->wide_rows ? hi - lo : s->k->tile_cols;
        for (int col = lo; col < hi; col += step, ahead = NULL)
            tile_direct(s, acc + (size_t)first * PANEL, x, R, panel, k0, K, col, col + step, ahead);
    }
}

static void part_many(const struct work *s, float *acc, int panel, int k0, int K, int lo, int hi)
{
    const int strip = s->k->tile_cols;
    const char *w = at(s->w, panel, k0), *ahead = at(s->w, panel, k0 + K);
    if (s->w->kind == LINEAR_F16)
        s->k->strips_f16(s->strips, (const uint16_t *)w, K, strip);
    else
        s->k->strips_f32(s->strips, (const float *)w, K, strip);
    for (int col = lo; col < hi; col += strip)
        for (int i = 0; i < s->n_tiles; i++, ahead = NULL) {
            int first, R;
            rows_of(s, i, &first, &R);
            const float *x = s->packed + (size_t)first * (size_t)s->w->K + (size_t)k0 * (size_t)R;
            s->k->tile_f32(acc + (size_t)first * PANEL + col, PANEL, k0 == 0, x, R,
                           s->strips + (size_t)col * (size_t)K, (size_t)strip, K, strip, ahead);
        }
}

/* Columns c0..c1-1, whole units, of at most GROUP panels, for all rows of s. */
static void group(const struct work *s, float *y, size_t ldy, int c0, int c1, enum linear_then then)
{
    const int K = s->w->K, first = c0 / PANEL, last = (c1 + PANEL - 1) / PANEL;
    for (int k0 = 0; k0 < K; k0 += PART)
        for (int p = first; p < last; p++) {
            float *acc = s->acc + (size_t)(p - first) * (size_t)s->T * PANEL;
            int count = K - k0 < PART ? K - k0 : PART;
            int lo = p == first ? c0 % PANEL : 0;
            int hi = c1 - p * PANEL < PANEL ? c1 - p * PANEL : PANEL;
            (s->n_tiles > FEW_TILES ? part_many : part_few)(s, acc, p, k0, count, lo, hi);
        }
    for (int p = first; p < last; p++) {
        int lo = p == first ? c0 : p * PANEL, hi = p == last - 1 ? c1 : (p + 1) * PANEL;
        if (hi > s->w->N)
            hi = s->w->N;
        const float *acc = s->acc + (size_t)(p - first) * (size_t)s->T * PANEL + lo % PANEL;
        s->k->finish(y + lo, ldy, acc, PANEL, s->w->bias == NULL ? NULL : s->w->bias + lo, s->T,
                     (size_t)(hi - lo), then);
    }
}

/* One row: every panel is one stream of all K. */
static void one_row(const struct work *s, float *y, const float *x, int c0, int c1,
                    enum linear_then then)
{
    for (int col = c0; col < c1;) {
        int p = col / PANEL, lo = col % PANEL, hi = c1 - p * PANEL < PANEL ? c1 - p * PANEL : PANEL;
        int n = s->w->N - col < hi - lo ? s->w->N - col : hi - lo;
        tile_direct(s, s->acc, x, 1, p, 0, s->w->K, lo, hi, at(s->w, p, 0) + AHEAD_BYTES);
        s->k->finish(y + col, 0, s->acc + lo, 0, s->w->bias == NULL ? NULL : s->w->bias + col, 1,
                     (size_t)n, then);
        col += hi - lo;
    }
}

void linear_rows(const struct linear *w, float *y, size_t ldy, const float *x, size_t ldx, int T,
                 enum linear_then then, int thread, int n_threads, void *scratch)
{
    struct work s = {.k = kernels_active(), .w = w};
    carve(&s, scratch, w->K);
    int c0, c1;
    par_split((w->N + UNIT - 1) / UNIT, thread, n_threads, &c0, &c1);
    c0 *= UNIT;
    c1 *= UNIT;
    if (c0 == c1)
        return;
    if (T == 1) {
        one_row(&s, y, x, c0, c1, then);
        return;
    }
    for (int t = 0; t < T; t += ROWS) {
        s.T = T - t < ROWS ? T - t : ROWS;
        s.n_tiles = (s.T + s.k->tile_rows - 1) / s.k->tile_rows;
        for (int i = 0; i < s.n_tiles; i++) {
            int first, R;
            rows_of(&s, i, &first, &R);
            s.k->pack(s.packed + (size_t)first * (size_t)w->K, x + (size_t)(t + first) * ldx, ldx,
                      R, w->K);
        }
        const int wide = (s.n_tiles > FEW_TILES ? GROUP : 1) * PANEL;
        for (int col = c0, next; col < c1; col = next) {
            next = col - col % PANEL + wide < c1 ? col - col % PANEL + wide : c1;
            group(&s, y + (size_t)t * ldy, ldy, col, next, then);
        }
    }
}

void linear_column(const struct linear *w, int n, float *out)
{
    const size_t offset = (size_t)(n % PANEL);
    const char *panel = at(w, n / PANEL, 0);
    for (size_t k = 0; k < (size_t)w->K; k++)
        out[k] = w->kind == LINEAR_F16 ? half_to_f32(((const uint16_t *)panel)[k * PANEL + offset])
                                       : ((const float *)panel)[k * PANEL + offset];
}

/* n elements from src to dst, both possibly with gaps, in the kinds given. */
static void copy(void *dst, enum linear_kind dst_kind, const void *src, enum linear_kind src_kind,
                 size_t n)
{
    const struct kernels *k = kernels_active();
    if (dst_kind == src_kind)
        memcpy(dst, src, n * (dst_kind == LINEAR_F16 ? 2 : 4));
    else if (dst_kind == LINEAR_F16)
        k->narrow(dst, src, n);
    else
        k->widen(dst, src, n);
}

void linear_fill_in_major(struct linear *w, const void *src, enum linear_kind src_kind, int k0,
                          int count)
{
    const size_t element = src_kind == LINEAR_F16 ? 2 : 4;
    for (int p = 0; p < linear_panels(w->N); p++) {
        size_t n = (size_t)(w->N - p * PANEL < PANEL ? w->N - p * PANEL : PANEL);
        for (int k = 0; k < count; k++) {
            const char *from =
                (const char *)src + ((size_t)k * (size_t)w->N + (size_t)p * PANEL) * element;
            copy((char *)at(w, p, k0 + k), w->kind, from, src_kind, n);
        }
    }
}

void linear_fill_out_major(struct linear *w, const void *src, enum linear_kind src_kind, int n0,
                           int count)
{
    enum { CHUNK = 256 };
    const size_t element = src_kind == LINEAR_F16 ? 2 : 4;
    _Alignas(64) char part[CHUNK * 4];
    for (int n = n0; n < n0 + count; n++)
        for (int k = 0; k < w->K; k += CHUNK) {
            size_t m = (size_t)(w->K - k < CHUNK ? w->K - k : CHUNK);
            const char *from =
                (const char *)src + ((size_t)(n - n0) * (size_t)w->K + (size_t)k) * element;
            copy(part, w->kind, from, src_kind, m);
            char *to = (char *)at(w, n / PANEL, k);
            for (size_t i = 0; i < m; i++) {
                size_t slot = i * PANEL + (size_t)(n % PANEL);
                if (w->kind == LINEAR_F16)
                    ((uint16_t *)to)[slot] = ((uint16_t *)part)[i];
                else
                    ((float *)to)[slot] = ((float *)part)[i];
            }
        }
}
