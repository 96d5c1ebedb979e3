#ifndef PRATTLE_MODEL_KERNELS_ATTENTION_PAGE_H
#define PRATTLE_MODEL_KERNELS_ATTENTION_PAGE_H
/*
 * The keys and values of one head in a page of 64 positions: keys [D][64], aligned to 64 bytes, and
 * values [64][D16], D16 = D rounded up to 16, padded with zeros. They are fp32, binary16, or q8 as
 * attention_q8.h has it.
 */
#include "model/base/dtype.h"

enum { ATTENTION_BLOCK = 64 };

/* The bytes they take. */
size_t attention_key_bytes(enum dtype dtype, int D);
size_t attention_value_bytes(enum dtype dtype, int D);

/* Store the row k [D], v [D] at position `slot`. */
void attention_page_store(enum dtype dtype, int D, char *keys, char *values, const float *k,
                          const float *v, int slot);
/* Copy positions 0 .. n - 1. */
void attention_page_copy(enum dtype dtype, int D, char *keys, char *values, const char *from_keys,
                         const char *from_values, int n);

#endif
