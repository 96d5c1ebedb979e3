#ifndef PRATTLE_MODEL_KERNELS_ATTENTION_H
#define PRATTLE_MODEL_KERNELS_ATTENTION_H
/*
 * Causal attention of one head over pages of 64 keys, with online softmax page by page
 * (Dao et al. 2022, Milakov & Gimelshein 2018). For a query row q [D]:
 *
 *   m = -inf, sum = 0, acc [D] = 0
 *   for each page, the row seeing its keys b .. c - 1, b < c:
 *     s[j] = sum over d ascending of fma(q[d], K[d][j], .), -inf for j < b
 *     r = softmax_block(s, c, scale, &m, &sum)      s becomes weights (attention_kernels.h)
 *     acc[d] = r acc[d]; for j = b .. c - 1: acc[d] = fma(s[j], V[j][d], acc[d])
 *   out[d] = acc[d] / sum
 *
 * A row sees the keys at or before its own position, or of these the last `window` (GPT-Neo's local
 * layers). Other keys never enter its output, whatever the page holds there, and a row's bits do
 * not depend on the rows computed with it. K and V are fp32, binary16, or q8 as attention_q8.h has
 * it.
 */
#include "model/kernels/attention_page.h"
#include "model/kernels/linear.h"

/* One head of one layer of one sequence. */
struct attention {
    enum dtype dtype;     /* of keys and values: DTYPE_F32, DTYPE_F16 or DTYPE_Q8 */
    int D;                /* head size */
    float scale;          /* scores are multiplied by this */
    int window;           /* how many keys a row sees at most; 0: all up to its own */
    char *const *pages;   /* page i holds positions 64 i .. 64 i + 63 */
    size_t key_offset;    /* in bytes: this head's keys in a page, [D][64], aligned to 64 bytes */
    size_t value_offset;  /* its values, [64][D16], D16 = D rounded up to 16, padded with zeros;
                             both in q8 as attention_q8.h has them */
    const char *prefetch; /* the keys that will be read after these; NULL: unknown */

    /* For training. */
    float *lse; /* row i's log-sum-exp, m + ln sum, goes to lse[i * ld_lse]; NULL: nowhere */
    size_t ld_lse;
    const struct dropout *dropout; /* of the weights, after they are added to sum: those of page p
                                      for position t are block mask + p n_ctx + t; NULL: none */
    uint64_t stream, mask;
    int n_ctx;
};

/* The page of the first key that a row at this position sees. */
static inline int attention_first_page(const struct attention *a, int position)
{
    return a->window == 0 || position < a->window
               ? 0
               : (position - a->window + 1) / (int)ATTENTION_BLOCK;
}

/* Bytes of scratch one thread needs for heads of size D. */
size_t attention_scratch_bytes(int D);

/*
 * out [n,D] = attention of query rows q [n,D] at positions first .. first + n - 1, each over the
 * keys at positions 0 to its own, which are stored already. Many rows at once are fastest.
 *
 * ldo, ldq   floats from row to row
 * scratch    this thread's own, attention_scratch_bytes(D), aligned to 64 bytes
 */
void attention_rows(const struct attention *a, float *out, size_t ldo, const float *q, size_t ldq,
                    int n, int first, void *scratch);

enum { ATTENTION_HEADS = TILE_MAX_ROWS };
/* The queries, keys and values of a new row for n adjacent heads, each [n,D]. */
struct attention_row {
    const float *q, *k, *v;
};
/*
 * Store the new row at `position` and compute out [n,D], its attention over all positions to its
 * own, for n <= ATTENTION_HEADS adjacent heads, of which `a` has the first: the bits of
 * attention_store and attention_rows for each. Heads lie one after another in a page, so this reads
 * memory in long runs, and stores a key, whose elements are in D cache lines, where it has read. No
 * dropout, no lse.
 */
void attention_step(const struct attention *a, float *out, const struct attention_row *new, int n,
                    int position, void *scratch);

/* Store keys k and values v, [n,D] with ld floats from row to row, at positions first ..
 * first + n - 1 of the pages. */
void attention_store(const struct attention *a, const float *k, const float *v, size_t ld, int n,
                     int first);

#endif
