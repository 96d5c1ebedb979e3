#ifndef PRATTLE_TRAIN_OPTIM_OPTIMIZER_CONFIG_H
#define PRATTLE_TRAIN_OPTIM_OPTIMIZER_CONFIG_H
/*
 * The configuration of an optimizer; optimizer.h has the formulas it enters.
 */
#include "model/params.h"

#include <stdbool.h>
#include <stdint.h>

enum optimizer_kind { OPTIMIZER_ADAMW, OPTIMIZER_ADAM, OPTIMIZER_LAMB, OPTIMIZER_MUON };
/* Which tensors weight decay applies to: matrices and embeddings, but not biases and layer norms;
 * or all. */
enum decay_what { DECAY_MATRICES, DECAY_ALL };
/* The precision of the first moment. The second is always fp32, since squares would underflow. */
enum moment_kind { MOMENT_AS_WEIGHTS, MOMENT_F32, MOMENT_F16 };

struct optimizer_config {
    int kind; /* enum optimizer_kind */
    float beta1, beta2, eps, weight_decay;
    float momentum; /* Muon's */
    int decay;      /* enum decay_what */
    bool bias_correction;
    float grad_clip;          /* gradients are clipped to this global norm; 0: no clipping */
    int first_order_momentum; /* enum moment_kind */
    bool stochastic_rounding; /* of weights in binary16; false: to nearest even */
    uint64_t seed;            /* of stochastic rounding */
};
/* AdamW with betas 0.9 and 0.95, eps 1e-8, weight decay 0.1 on matrices, bias correction, clipping
 * to 1, for Muon a momentum of 0.95, the first moment in the weights' precision, stochastic
 * rounding. */
void optimizer_config_init(struct optimizer_config *c);

/* Whether Muon steps this tensor: a matrix of a layer. */
bool optimizer_has_matrix(const struct optimizer_config *c, const struct param_tensor *t);

/* What the moments and scratch of some tensors are in size: zeroed, then each is added. */
struct optimizer_needs {
    size_t second;       /* elements of the second moment, which Muon's matrices have not */
    size_t tensor, part; /* elements of the largest tensor of Muon's, and of a matrix in it */
    int side;            /* the longest of its matrices' shorter sides */
    double flops;        /* of a step's orthogonalization */
};
void optimizer_needs_add(struct optimizer_needs *n, const struct optimizer_config *c,
                         const struct param_tensor *t);
/* Bytes of scratch with a team of as many threads as there are; 0 but for Muon. */
size_t optimizer_scratch_bytes(const struct optimizer_needs *n);

/* The first moment's type, DTYPE_F32 or DTYPE_F16, for weights of type dtype. */
enum dtype optimizer_moment(const struct optimizer_config *c, enum dtype dtype);

/* A further condition on the weights after a step. */
struct optimizer_guard {
    double reach; /* not asked while a bound of every weight's size is at most this */
    /* Whether a step may set the block to these weights [n] (exact but for the last place). Called
     * outside the team. */
    bool (*allows)(void *user, const float *weights);
    void *user;
};

/* Several processes with some of the weights each: a step then updates the moments and weights of
 * this one's alone, and what all add up to is the same in all processes. */
enum { OPTIMIZER_MAX_RUNS = 17 };
struct optimizer_share {
    int n_runs;
    struct {
        size_t first,
            last; /* elements first to last - 1, whole pieces of work (optimizer_slices) */
    } runs[OPTIMIZER_MAX_RUNS]; /* [n_runs], one behind another */
    size_t first_gradient;      /* the element with which gradients that are given begin */
    /* Give all processes the sums [pieces][2] of each one's pieces. */
    void (*spread_sums)(void *user, double *sums);
    /* Whether it is so in any. */
    bool (*any)(void *user, bool here);
    void *user;
};

#endif
