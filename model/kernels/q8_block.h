#ifndef PRATTLE_MODEL_KERNELS_Q8_BLOCK_H
#define PRATTLE_MODEL_KERNELS_Q8_BLOCK_H
/*
 * Q8_0, the 8-bit weights of GGUF: 32 elements in a row of a file, that is 32 values of k for one
 * output n, are integers q and one binary16 scale d. An element is d q, which fp32 holds exactly,
 * so a product with Q8_0 weights has the bits of one with these numbers in fp32.
 */
#include <stddef.h>
#include <stdint.h>

enum { Q8_BLOCK = 32, Q8_COLUMNS = 64 };

/* As in files, of any alignment. */
struct q8_block {
    uint16_t d; /* binary16 */
    int8_t q[Q8_BLOCK];
};

/* The blocks of the 64 columns of a panel (linear.h), for 32 rows k of it. */
struct q8_panel {
    uint16_t d[Q8_COLUMNS];
    int8_t q[Q8_BLOCK][Q8_COLUMNS];
};

_Static_assert(sizeof(struct q8_block) == 34, "a block of a file");
_Static_assert(sizeof(struct q8_panel) == Q8_COLUMNS * sizeof(struct q8_block), "without gaps");

/* From here on a number is beyond Q8_0: its block's scale is infinite in binary16. */
#define Q8_LIMIT 8321040.0f

#endif
