#ifndef PRATTLE_MODEL_KERNELS_PRODUCT_H
#define PRATTLE_MODEL_KERNELS_PRODUCT_H
/*
 * The matrix products of training, in fp32: C [m,n] = A [m,k] B [k,n], all row-major.
 *
 * Every element of C is one chain,
 *
 *   acc = add ? C[i][j] : 0
 *   for l = 0 .. k - 1: acc = fma(alpha A[i][l], B[l][j], acc)
 *   C[i][j] = acc
 *
 * in this order on every instruction set and for any number of threads: the same bits everywhere.
 * With add the chain goes on where it was, so that a sum over the rows of several micro-batches has
 * the bits of one over the rows of all of them.
 *
 * With factors in bfloat16, alpha A and B are rounded to it, and the chain is that of
 * bf16_kernels.h, in groups of 32 of k from 0 on: a chain that goes on where it was has the bits of
 * the whole one if every k but the last is a multiple of 32.
 *
 * With OpenBLAS, alpha and the sum that was there come last, the order is its kernel's, and the
 * bits are the same for any number of threads, but not on another machine.
 */
#include <stdbool.h>
#include <stddef.h>

struct product {
    bool transpose_a, transpose_b; /* A is stored as [k,m], B as [n,k] */
    bool add;
    bool float32; /* the factors stay fp32, whatever product_select says */
    int m, n, k;
    float alpha;
    const float *a, *b;
    float *c;
    int lda, ldb, ldc; /* floats from row to row, as stored */
    /* Called for each block of C, rows x cols, once it is complete and while it is in the cache, by
     * any thread of the job; NULL: nothing is to be done. */
    void (*finish)(void *user, int row, int rows, int col, int cols);
    void *user;
};

/* By which code: our own, or OpenBLAS's. Automatic is our own unless its kernels are the portable
 * ones, which are slow, and OpenBLAS is there. */
enum product_engine { PRODUCT_AUTO, PRODUCT_OWN, PRODUCT_OPENBLAS };
/* What the factors are rounded to before they are multiplied. */
enum product_factors { FACTORS_FLOAT32, FACTORS_BFLOAT16 };
/* The engine and the factors of the products from now on; not while a job runs. ERR_MISSING:
 * OpenBLAS is not there, ERR_RANGE: it has no factors in bfloat16; all is as before then. */
int product_select(enum product_engine e, enum product_factors f);
/* PRODUCT_OWN or PRODUCT_OPENBLAS. */
enum product_engine product_engine(void);
enum product_factors product_factors(void);
/* The factors alone; not while a job runs. */
void product_set_factors(enum product_factors f);

/* Bytes of scratch that a thread needs. */
size_t product_scratch_bytes(void);
/*
 * This thread's share of C, some of which others may compute that wait at a barrier meanwhile.
 * Every thread of the job calls it with the same product; no barrier.
 * scratch: this thread's own, aligned to 64 bytes.
 */
void product_share(const struct product *p, int thread, int n_threads, void *scratch);

#endif
