#ifndef PRATTLE_TRAIN_OPTIM_OPTIMIZER_H
#define PRATTLE_TRAIN_OPTIM_OPTIMIZER_H
/*
 * AdamW (Loshchilov & Hutter 2019, as PyTorch has it), Adam with L2 in the gradient
 * (Kingma & Ba 2015, as PyTorch) and LAMB (You et al. 2020). With g the scaled and
 * clipped gradient and t the number of the step, from 1:
 *
 *   Adam: g += weight_decay w
 *   m = beta1 m + (1 - beta1) g          v = beta2 v + (1 - beta2) g^2
 *   u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)
 *   Adam:  w -= rate u
 *   AdamW: w -= rate u + rate weight_decay w
 *   LAMB:  u += weight_decay w;  w -= rate |w| / |u| u    (norms over each tensor,
 *          their ratio 1 where one of them is 0)
 *
 * Without bias_correction the two divisors 1 - beta^t are 1. All by the whole team, in
 * an order of sums that does not depend on its size; nothing allocates after
 * optimizer_new.
 *
 * Weights in binary16 have no fp32 copy: the new ones are computed in fp32 and rounded to
 * one of their two neighbours by chance, so that on average they move as they should
 * (Gupta et al. 2015); to nearest, a step smaller than half their last place would be
 * lost. The draws come from (seed, step, place in the block). A first moment in binary16
 * has a power of two for every run of elements that makes its greatest one large: it
 * neither overflows nor underflows, whatever the scale of the gradients.
 *
 * No step makes a weight NaN, infinite or as large as a limit: one that may bring a weight
 * halfway there (by a bound that costs nothing), and the first, is rehearsed on copies, and
 * not taken if it would. What there is then is the state before it.
 */
#include "model/params.h"
#include "train/optim/optimizer_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From this size on a number is infinite in binary16. */
#define OPTIMIZER_HALF_LIMIT 65520.0f

/* What a step did to one tensor. */
struct tensor_change {
    double grad_norm;   /* of the scaled gradient, before clipping; from optimizer_norm */
    double weight_norm; /* before the step; this and the next from optimizer_step, 0 without one */
    double update_norm; /* of what the step added */
};

/* The block of weights that is optimized: where each tensor lies in it. */
struct optimizer_layout {
    enum dtype dtype; /* of weights and gradients: DTYPE_F32, DTYPE_F16 */
    int n_tensors;
    const struct param_tensor *tensors; /* [n_tensors], of which only the kind is looked at */
    const size_t *offset;               /* [n_tensors + 1], in elements */
};

struct optimizer;

/* Moments of zero, before its first step. Of the layout nothing is kept. */
int optimizer_new(struct optimizer **out, const struct optimizer_config *c,
                  struct optimizer_layout l);
void optimizer_free(struct optimizer *o);
/* Of the next step on; kind, decay and the first moment's precision are those it was made with. */
void optimizer_configure(struct optimizer *o, const struct optimizer_config *c);
/* What no weight's size may reach; at first as the weights' type has it: infinite in fp32. */
float optimizer_limit(const struct optimizer *o);
void optimizer_set_limit(struct optimizer *o, float limit);
/* Steps taken: with the blocks all there is to save. */
int64_t optimizer_steps(const struct optimizer *o);
void optimizer_set_steps(struct optimizer *o, int64_t steps);
/* [n_tensors], of the last step, in the table's order. */
const struct tensor_change *optimizer_changes(const struct optimizer *o);
/* A block as it lies in memory. */
struct optimizer_block {
    const char *name;
    enum dtype dtype;
    void *data; /* [n] */
    size_t n;
};
enum { OPTIMIZER_MAX_BLOCKS = 3 };
/* The moments, to be saved, or filled when a run goes on; how many blocks they are. */
int optimizer_blocks(const struct optimizer *o, struct optimizer_block out[OPTIMIZER_MAX_BLOCKS]);
/* The global norm of grads [n] * scale, grads in the weights' type. Not finite when a gradient
 * is not: then take no step. */
double optimizer_norm(struct optimizer *o, const void *grads, float scale);
/*
 * One step with grads * scale, clipped as `norm`, which optimizer_norm gave, demands: by
 * grad_clip / (norm + 1e-6), as PyTorch, where that is below 1. False: some weight would have
 * become NaN, infinite or as large as the limit (LAMB: 0.99 of it), whatever the team; weights,
 * moments and steps are then as they were. weights: the block, in fp32 or binary16.
 */
bool optimizer_step(struct optimizer *o, void *weights, const void *grads, float scale, double norm,
                    float rate);

#endif
