#include "train/optim/optimizer_config.h"

void optimizer_config_init(struct optimizer_config *c)
{
    *c = (struct optimizer_config){.kind = OPTIMIZER_ADAMW,
                                   .beta1 = 0.9f,
                                   .beta2 = 0.95f,
                                   .eps = 1e-8f,
                                   .weight_decay = 0.1f,
                                   .decay = DECAY_MATRICES,
                                   .bias_correction = true,
                                   .grad_clip = 1,
                                   .stochastic_rounding = true};
}

enum dtype optimizer_moment(const struct optimizer_config *c, enum dtype dtype)
{
    switch ((enum moment_kind)c->first_order_momentum) {
    case MOMENT_F32:
        return DTYPE_F32;
    case MOMENT_F16:
        return DTYPE_F16;
    case MOMENT_AS_WEIGHTS:
        break;
    }
    return dtype;
}
