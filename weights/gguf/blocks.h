#ifndef PRATTLE_WEIGHTS_GGUF_BLOCKS_H
#define PRATTLE_WEIGHTS_GGUF_BLOCKS_H
/*
 * The types of tensors in GGUF files. A quantized row is a sequence of blocks, 32 or 256 elements
 * each, of integers q and their scales; an element is the fp32 value that the reference computes,
 * rounded after each operation (dequantize_row_* in ggml-quants.c and the structures in
 * ggml-common.h, https://github.com/ggml-org/ggml/tree/master/src).
 *
 * Blocks of 32. d and m are binary16. Byte i of qs has element i in its low half, i + 16 in its
 * high half; bit i of qh (little-endian) is the fifth bit of element i.
 *
 *     Q4_0    | d 2 | qs 16 |                  d (q - 8)
 *     Q4_1    | d 2 | m 2 | qs 16 |            d q + m
 *     Q5_0    | d 2 | qh 4 | qs 16 |           d (q - 16)
 *     Q5_1    | d 2 | m 2 | qh 4 | qs 16 |     d q + m
 *     Q8_0    | d 2 | qs 32 |                  d q, q a signed byte
 *     IQ4_NL  | d 2 | qs 16 |                  d level[q]
 *
 * Blocks of 256. d and dmin are binary16; s and m, the scale and minimum of a group of 16 (Q2_K,
 * Q3_K, Q6_K) or 32 elements, are integers too.
 *
 *     Q2_K    | scales 16 | qs 64 | d 2 | dmin 2 |               (d s) q - dmin m
 *     Q3_K    | hmask 32 | qs 64 | scales 12 | d 2 |             (d (s - 32)) (q - 4)
 *     Q4_K    | d 2 | dmin 2 | scales 12 | qs 128 |              (d s) q - dmin m
 *     Q5_K    | d 2 | dmin 2 | scales 12 | qh 32 | qs 128 |      (d s) q - dmin m
 *     Q6_K    | ql 128 | qh 64 | scales 16 | d 2 |               (d s) (q - 32), s a signed byte
 *
 * Where the bits of element e are, its number being written in two ways:
 *
 *     e = 128 n + 32 j + i    two bits: bits 2j of byte 32n + i of qs (Q2_K, Q3_K) or qh (Q6_K)
 *                             third bit of Q3_K: bit 4n + j of hmask[i]
 *                             low half of Q6_K: half j / 2 of byte 64n + 32 (j % 2) + i of ql
 *     e = 32 g + i            four bits: half g % 2 of byte 32 (g / 2) + i of qs (Q4_K, Q5_K)
 *                             fifth bit of Q5_K: bit g of qh[i]
 *
 * scales: a byte of Q2_K has a group's s in its low half and m in its high half, a byte of Q6_K an
 * s. The others pack six bits each:
 *
 *     Q3_K            byte k, k < 8:    low half  s[k] bits 3..0, high half s[k + 8] bits 3..0
 *                     byte 8 + k:       bits 2j + 1, 2j are bits 5, 4 of s[k + 4j]
 *     Q4_K, Q5_K      byte k, k < 4:    bits 5..0 are s[k], bits 7, 6 are bits 5, 4 of s[k + 4]
 *                     byte 4 + k:       bits 5..0 are m[k], bits 7, 6 are bits 5, 4 of m[k + 4]
 *                     byte 8 + k:       low half  s[k + 4] bits 3..0, high half m[k + 4] bits 3..0
 */
#include "model/base/dtype.h"

#include <stdint.h>

/* The numbers of the types that are written. */
enum ggml_type { GGML_F32 = 0, GGML_F16 = 1, GGML_Q8_0 = 8, GGML_BF16 = 30 };

enum { BLOCK_MAX_ELEMENTS = 256, BLOCK_MAX_BYTES = 210 };

struct block_format {
    const char *name;    /* "Q4_K"; static */
    enum dtype dtype;    /* of the elements; F32 if quantized */
    int elements, bytes; /* of a block; 1 element if it is not quantized */
    /* out [elements] = the block's elements; NULL: it is one element of type dtype. */
    void (*dequantize)(float *out, const unsigned char *block);
};

/* The format of a type by its number in the file; NULL: it is not read. */
const struct block_format *block_format_of(uint32_t type);
/* The name of a type that is not read; NULL: the number is unknown. */
const char *block_unread_name(uint32_t type);
/* "F32, F16, ... and IQ4_NL": those that are read. */
const char *block_names_read(void);

#endif
