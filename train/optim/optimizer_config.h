#ifndef PRATTLE_TRAIN_OPTIM_OPTIMIZER_CONFIG_H
#define PRATTLE_TRAIN_OPTIM_OPTIMIZER_CONFIG_H
/*
 * The configuration of an optimizer; optimizer.h has the formulas it enters.
 */
#include "model/params.h"

#include <stdbool.h>
#include <stdint.h>

enum optimizer_kind { OPTIMIZER_ADAMW, OPTIMIZER_ADAM, OPTIMIZER_LAMB };
/* Which tensors weight decay applies to: matrices and embeddings, but not biases and layer norms;
 * or all. */
enum decay_what { DECAY_MATRICES, DECAY_ALL };
/* The precision of the first moment. The second is always fp32, since squares would underflow. */
enum moment_kind { MOMENT_AS_WEIGHTS, MOMENT_F32, MOMENT_F16 };

struct optimizer_config {
    int kind; /* enum optimizer_kind */
    float beta1, beta2, eps, weight_decay;
    int decay; /* enum decay_what */
    bool bias_correction;
    float grad_clip;          /* gradients are clipped to this global norm; 0: no clipping */
    int first_order_momentum; /* enum moment_kind */
    bool stochastic_rounding; /* of weights in binary16; false: to nearest even */
    uint64_t seed;            /* of stochastic rounding */
};
/* AdamW with betas 0.9 and 0.95, eps 1e-8, weight decay 0.1 on matrices, bias correction, clipping
 * to 1, the first moment in the weights' precision, stochastic rounding. */
void optimizer_config_init(struct optimizer_config *c);

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
