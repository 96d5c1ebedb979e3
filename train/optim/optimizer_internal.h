#ifndef PRATTLE_TRAIN_OPTIM_OPTIMIZER_INTERNAL_H
#define PRATTLE_TRAIN_OPTIM_OPTIMIZER_INTERNAL_H
/*
 * struct optimizer, for optimizer.c and the files of its steps.
 */
#include "train/optim/newton_schulz.h"
#include "train/optim/optimizer_config.h"

#include <stddef.h>

struct disk_walk;
struct tensor_change;

/* The block is divided into pieces of at most PIECE elements of one tensor, which threads share,
 * and pieces into runs of at most RUN elements, which are copied to fp32 where they are binary16.
 */
enum { PIECE = 16384, RUN = 1024, RUNS = PIECE / RUN };

struct optimizer_piece {
    size_t first;  /* element of the block */
    size_t second; /* of the second moment's */
    int n, tensor;
    bool decays, of_matrix; /* of_matrix: Muon steps it */
};

/* Tensors that Muon steps. */
struct optimizer_matrix {
    size_t first; /* element of the block */
    int first_piece, n_pieces;
    int rows, cols, fused; /* of the tensor; fused matrices of cols / fused columns, 1 at least */
};

/* Pieces first[0] to first[0] + n[0] - 1, and behind them others, OPTIMIZER_MAX_RUNS times; those
 * behind the last are empty. */
struct piece_runs {
    int first[OPTIMIZER_MAX_RUNS], n[OPTIMIZER_MAX_RUNS];
};

struct optimizer {
    struct optimizer_config config;
    float limit;                  /* the size that no weight may reach */
    struct optimizer_guard guard; /* allows NULL: none */
    float *rehearsed;             /* [n], the weights that a rehearsal shows the guard */
    float *m;                     /* [n], in the weights' layout; NULL: see half_m */
    float *v;                     /* [n_second], the same without Muon's matrices */
    uint16_t *half_m;             /* [n], m in units of m_unit; NULL: see m */
    float *m_unit;                /* [n_units], powers of two, RUNS for each piece */
    size_t n, n_units, n_second;
    int64_t steps;                  /* taken */
    struct tensor_change *changes;  /* [n_tensors], of the last step, in the table's order */
    struct optimizer_piece *pieces; /* [n_pieces], in the block's order */
    double *sums;                   /* [n_pieces][2] */
    double largest; /* an upper bound of every piece's norm, and so of every weight's size;
                       INFINITY: unknown */
    int n_pieces;
    struct optimizer_matrix *matrices; /* [n_matrices]; NULL: there are none */
    int n_matrices;
    size_t n_direction;
    float *direction;             /* [n_direction], of one of them */
    struct newton_schulz schulz;  /* what makes it orthogonal */
    struct piece_runs own;        /* those stepped here */
    struct optimizer_share share; /* spread_sums NULL: all are */
    size_t first_gradient;        /* the element that gradients given begin with */
    /* Steps go through the pieces part by part; in memory there is one. */
    int *part_ends; /* [n_parts], pieces */
    int n_parts;
    struct disk_walk *disk; /* has v, and m or half_m; NULL: they are in memory */
    bool walks_gradients;   /* it has weights and gradients too */
    int n_tensors;
    enum dtype dtype; /* of weights and gradients */
};

#endif
