#ifndef PRATTLE_TRAIN_OPTIM_OPTIMIZER_CONFIG_H
#define PRATTLE_TRAIN_OPTIM_OPTIMIZER_CONFIG_H
/*
 * What an optimizer is told; optimizer.h says what it does with it.
 */
#include "model/params.h"

#include <stdbool.h>
#include <stdint.h>

enum optimizer_kind { OPTIMIZER_ADAMW, OPTIMIZER_ADAM, OPTIMIZER_LAMB };
/* What decays: tensors with two dimensions (so no biases and no LayerNorm), or all. */
enum decay_what { DECAY_MATRICES, DECAY_ALL };
/* How the first moment is kept. The second is always fp32: it is made of squares. */
enum moment_kind { MOMENT_AS_WEIGHTS, MOMENT_F32, MOMENT_F16 };

struct optimizer_config {
    int kind; /* enum optimizer_kind */
    float beta1, beta2, eps, weight_decay;
    int decay; /* enum decay_what */
    bool bias_correction;
    float grad_clip;          /* the greatest global norm of a gradient; 0: any */
    int first_order_momentum; /* enum moment_kind */
    bool stochastic_rounding; /* of weights in binary16; false: to nearest even */
    uint64_t seed;            /* of that */
};
/* AdamW, betas 0.9 and 0.95, eps 1e-8, decay 0.1 on matrices, bias correction, clip 1, first
 * moment as the weights, stochastic rounding. */
void optimizer_config_init(struct optimizer_config *c);

/* Of the first moment: DTYPE_F32 or DTYPE_F16, with weights of this dtype. */
enum dtype optimizer_moment(const struct optimizer_config *c, enum dtype dtype);

#endif
