#ifndef PRATTLE_TRAIN_OPTIM_OPTIMIZER_INTERNAL_H
#define PRATTLE_TRAIN_OPTIM_OPTIMIZER_INTERNAL_H
/*
 * The optimizer as its own two files see it.
 */
#include "train/optim/optimizer_config.h"

#include <stddef.h>

struct tensor_change;

/* Elements of a piece, and of a run: what is in binary16 is worked on in such. */
enum { PIECE = 16384, RUN = 1024, RUNS = PIECE / RUN };

struct optimizer_piece {
    size_t first; /* of the block */
    int n, tensor;
    bool decays;
};

struct optimizer {
    struct optimizer_config config;
    float limit;      /* that no weight's size may reach */
    float *m, *v;     /* [n] each, in the weights' layout; m NULL: in half_m */
    uint16_t *half_m; /* [n] in units of m_unit; NULL: in m */
    float *m_unit;    /* [n_units], powers of two */
    size_t n, n_units;
    int64_t steps;                  /* taken */
    struct tensor_change *changes;  /* [n_tensors], of the last step, in the table's order */
    struct optimizer_piece *pieces; /* the block in runs that each lie in one tensor */
    double *sums;                   /* [n_pieces][2] */
    double largest;                 /* no weight's size is above it; INFINITY: unknown */
    int n_pieces;
    int n_tensors;
    enum dtype dtype; /* of weights and gradients */
};

#endif
