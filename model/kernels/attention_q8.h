#ifndef PRATTLE_MODEL_KERNELS_ATTENTION_Q8_H
#define PRATTLE_MODEL_KERNELS_ATTENTION_Q8_H
/*
 * Keys and values in q8: the D elements of a head's row are blocks of 32, the last of what is left,
 * each block integers of 8 bits and one binary16 scale, quantized as Q8_0 is (q8.h). In a page
 *
 *   keys      for each block: scales [64], then the integers [elements of the block][64]
 *   values    scales [blocks][64], then the integers [64][D16]
 *
 * With K and V these integers, and k and v their blocks' scales, the products of attention.h are
 *
 *   s[j] = sum over blocks b ascending of fma(k[b][j], sum over d of b of fma(q[d], K[d][j], .), .)
 *   acc[d] = fma(s[j] v[b][j], V[j][d], acc[d]), d in block b
 */
#include "model/kernels/prefetch.h"
#include "model/kernels/q8.h"

/* The products of R rows, 1 .. tile_rows: the scores [R,64] of q [D,R], and acc [R,D16] += the
 * values begin .. end - 1 with weights w [R,64]. scratch: attention_q8_scratch_bytes(). */
void attention_q8_scores(float *scores, const float *q, int R, const char *keys, int D,
                         struct prefetch prefetch, void *scratch);
void attention_q8_values(float *acc, const float *w, int R, const char *values, int D16, int begin,
                         int end, struct prefetch prefetch, void *scratch);
size_t attention_q8_scratch_bytes(void);

/* Blocks of a row of D elements. */
static inline int attention_q8_blocks(int D)
{
    return (D + Q8_BLOCK - 1) / Q8_BLOCK;
}

/* Store the row k [D], v [D] at position `slot` of a page. */
void attention_q8_store(char *keys, char *values, const float *k, const float *v, int D, int slot);
/* Copy positions 0 .. n - 1 of a page. */
void attention_q8_copy(char *keys, char *values, const char *from_keys, const char *from_values,
                       int D, int n);

#endif
