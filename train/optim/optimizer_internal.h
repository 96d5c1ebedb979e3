#ifndef PRATTLE_TRAIN_OPTIM_OPTIMIZER_INTERNAL_H
#define PRATTLE_TRAIN_OPTIM_OPTIMIZER_INTERNAL_H
/*
 * struct optimizer, for optimizer.c and optimizer_step.c.
 */
#include "train/optim/optimizer_config.h"

#include <stddef.h>

struct disk_walk;
struct tensor_change;

/* The block is divided into pieces of at most PIECE elements of one tensor, which threads share,
 * and pieces into runs of at most RUN elements, which are copied to fp32 where they are binary16.
 */
enum { PIECE = 16384, RUN = 1024, RUNS = PIECE / RUN };

struct optimizer_piece {
    size_t first; /* element of the block */
    int n, tensor;
    bool decays;
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
    float *m, *v;                 /* [n] each, in the weights' layout; m NULL: see half_m */
    uint16_t *half_m;             /* [n], m in units of m_unit; NULL: see m */
    float *m_unit;                /* [n_units], powers of two, RUNS for each piece */
    size_t n, n_units;
    int64_t steps;                  /* taken */
    struct tensor_change *changes;  /* [n_tensors], of the last step, in the table's order */
    struct optimizer_piece *pieces; /* [n_pieces], in the block's order */
    double *sums;                   /* [n_pieces][2] */
    double largest; /* an upper bound of every piece's norm, and so of every weight's size;
                       INFINITY: unknown */
    int n_pieces;
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
