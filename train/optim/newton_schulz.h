#ifndef PRATTLE_TRAIN_OPTIM_NEWTON_SCHULZ_H
#define PRATTLE_TRAIN_OPTIM_NEWTON_SCHULZ_H
/*
 * A matrix made nearly orthogonal: of G = U S V' about U V', by the Newton-Schulz iteration of
 * Muon (Keller Jordan et al. 2024),
 *
 *   X = G / (|G| + 1e-7)                                  |G| the Frobenius norm
 *   five times: X = 3.4445 X - 4.7750 (X X') X + 2.0315 (X X')^2 X
 *
 * on G transposed where it has more rows than columns. The coefficients are those that raise small
 * singular values fastest, not those that bring them to 1: from 0.002 |G| up they end between 0.68
 * and 1.21, smaller ones lower. G of zeros stays so.
 *
 * In fp32, by the products of training (model/kernels/product.h): in one order of sums, so that the
 * bits are the same for any number of threads and, but with OpenBLAS, for all kernels.
 */
#include <stdbool.h>
#include <stddef.h>

/* What no singular value of a result exceeds, in exact arithmetic. */
#define NEWTON_SCHULZ_MOST 1.21

/* Scratch for matrices of limited sizes, one at a time. */
struct newton_schulz {
    size_t most;        /* elements */
    int side;           /* the lesser of rows and columns */
    int n_threads;      /* that compute; more in a team wait for them */
    float *x, *y;       /* [most] */
    float *gram, *poly; /* [side,side]: X X', and the polynomial but for its first term */
    double *sums;       /* [side], squares of a row of G */
    char *products;     /* [n_threads], each for a share of a product */
    size_t product_bytes;
    void *block;
    size_t bytes;
};

/* Bytes of scratch for matrices of at most so many elements and so long a shorter side, with a team
 * of as many threads as there are. */
size_t newton_schulz_bytes(size_t most, int side);
/* Floating-point operations of the products for a matrix. */
double newton_schulz_flops(int rows, int cols);
/* ERR_NOMEM. */
int newton_schulz_init(struct newton_schulz *s, size_t most, int side);
void newton_schulz_release(struct newton_schulz *s);
/*
 * Replace g [rows,cols], ld floats from row to row. Every thread of the job calls it; g must be
 * complete, and is when it returns.
 */
void newton_schulz_share(struct newton_schulz *s, float *g, int rows, int cols, size_t ld,
                         int thread, int n_threads);

#endif
