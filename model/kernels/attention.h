#ifndef PRATTLE_MODEL_KERNELS_ATTENTION_H
#define PRATTLE_MODEL_KERNELS_ATTENTION_H
/*
 * Causal attention of one head over pages of 64 keys, online softmax page by page
 * (Dao et al. 2022, Milakov & Gimelshein 2018):
 *
 *   m = -inf, sum = 0, acc [D] = 0; for each page that holds keys the row may see:
 *     s[j] = (acc = 0; acc = fma(q[d], K[d][j], acc), d ascending) * scale
 *     softmax_block (attention_kernels.h) over the c keys of the page, giving r and the weights s
 *     acc[d] = acc[d] * r; acc[d] = fma(s[j], V[j][d], acc[d]), j = 0 .. c - 1
 *   out[d] = acc[d] / sum
 *
 * Rows never use keys beyond their own, whatever the slots hold, and no row's bits
 * depend on the rows computed with it.
 */
#include "model/kernels/linear.h"

enum { ATTENTION_BLOCK = 64 };

/* One head of one layer of one sequence. */
struct attention {
    enum dtype dtype;     /* of keys and values */
    int D;                /* head size */
    float scale;          /* of the scores */
    char *const *pages;   /* page i holds positions 64 i .. 64 i + 63 */
    size_t key_offset;    /* of this head in a page: [D][64], aligned to 64 bytes */
    size_t value_offset;  /* [64][D16], D16 = D rounded up to 16, the rest zero; aligned */
    const char *prefetch; /* the keys to be read after these, fetched meanwhile; NULL: none */

    /* For training; NULL: nothing. */
    float *lse; /* gets m + ln sum of row i at lse[i * ld_lse] */
    size_t ld_lse;
    const struct dropout *dropout; /* of the weights s, after sum has them: keys of page p for
                                      the row at position t are block mask + p n_ctx + t */
    uint64_t stream, mask;
    int n_ctx;
};

/* Bytes of scratch one thread needs for heads of size D. */
size_t attention_scratch_bytes(int D);

/*
 * out [n,D] = attention of query rows q [n,D] at positions first .. first + n - 1 over
 * keys 0 .. own position, all stored already. Best in runs of many rows.
 *
 * ldo, ldq   floats from one row to the next
 * scratch    attention_scratch_bytes, this thread's own, aligned to 64
 */
void attention_rows(const struct attention *a, float *out, size_t ldo, const float *q, size_t ldq,
                    int n, int first, void *scratch);

/* Store keys and values k, v [n,D] at positions first .. first + n - 1. */
void attention_store(const struct attention *a, const float *k, const float *v, size_t ld, int n,
                     int first);

#endif
