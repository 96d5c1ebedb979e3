#ifndef PRATTLE_OPTIMIZER_H
#define PRATTLE_OPTIMIZER_H
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
 * optimizer_init.
 */
#include "train/masters.h"

enum optimizer_kind { OPTIMIZER_ADAMW, OPTIMIZER_ADAM, OPTIMIZER_LAMB };
/* What decays: tensors with two dimensions (so no biases and no LayerNorm), or all. */
enum decay_what { DECAY_MATRICES, DECAY_ALL };

struct optimizer_config {
    int kind; /* enum optimizer_kind */
    float beta1, beta2, eps, weight_decay;
    int decay; /* enum decay_what */
    bool bias_correction;
    float grad_clip; /* the greatest global norm of a gradient; 0: any */
};
/* AdamW, betas 0.9 and 0.95, eps 1e-8, decay 0.1 on matrices, bias correction, clip 1. */
void optimizer_config_init(struct optimizer_config *c);

/* What a step did to one tensor. */
struct tensor_change {
    double grad_norm;   /* of the scaled gradient, before clipping; from optimizer_norm */
    double weight_norm; /* before the step; this and the next from optimizer_step */
    double update_norm; /* of what the step added */
};

struct optimizer {
    struct optimizer_config config;
    float *m, *v; /* [n] each, in the masters' layout */
    size_t n;
    int64_t steps;                 /* taken; with m and v all there is to save */
    struct tensor_change *changes; /* [n_tensors], of the last step, in the table's order */
    /* From here on its own. */
    struct optimizer_piece *pieces; /* the block in runs that each lie in one tensor */
    double *sums;                   /* [n_pieces][2] */
    int n_pieces;
    int n_tensors;
};

/* Bytes of both moments, for n parameters. */
size_t optimizer_bytes(size_t n);
/* Moments of zero, before its first step. The layout of w is copied. */
int optimizer_init(struct optimizer *o, const struct optimizer_config *c, const struct masters *w);
void optimizer_release(struct optimizer *o);
/* The global norm of grads [n] * scale. Not finite when a gradient is not: then take no
 * step. */
double optimizer_norm(struct optimizer *o, const float *grads, float scale);
/* One step with grads * scale, clipped as `norm`, which optimizer_norm gave, demands: by
 * grad_clip / (norm + 1e-6), as PyTorch, where that is below 1. */
void optimizer_step(struct optimizer *o, struct masters *w, const float *grads, float scale,
                    double norm, float rate);

#endif
