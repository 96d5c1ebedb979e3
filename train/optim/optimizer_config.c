#include "train/optim/optimizer_config.h"

#include "train/optim/newton_schulz.h"

void optimizer_config_init(struct optimizer_config *c)
{
    *c = (struct optimizer_config){.kind = OPTIMIZER_ADAMW,
                                   .beta1 = 0.9f,
                                   .beta2 = 0.95f,
                                   .eps = 1e-8f,
                                   .weight_decay = 0.1f,
                                   .momentum = 0.95f,
                                   .decay = DECAY_MATRICES,
                                   .bias_correction = true,
                                   .grad_clip = 1,
                                   .stochastic_rounding = true};
}

bool optimizer_has_matrix(const struct optimizer_config *c, const struct param_tensor *t)
{
    return c->kind == OPTIMIZER_MUON && t->kind == PARAM_CONV1D;
}

void optimizer_needs_add(struct optimizer_needs *n, const struct optimizer_config *c,
                         const struct param_tensor *t)
{
    const size_t all = (size_t)t->rows * (size_t)t->cols;
    if (!optimizer_has_matrix(c, t)) {
        n->second += all;
        return;
    }
    const int fused = t->fused > 0 ? t->fused : 1, cols = t->cols / fused,
              side = t->rows < cols ? t->rows : cols;
    const size_t part = all / (size_t)fused;
    n->tensor = all > n->tensor ? all : n->tensor;
    n->part = part > n->part ? part : n->part;
    n->side = side > n->side ? side : n->side;
    n->flops += fused * newton_schulz_flops(t->rows, cols);
}

size_t optimizer_scratch_bytes(const struct optimizer_needs *n)
{
    return n->tensor == 0 ? 0 : n->tensor * sizeof(float) + newton_schulz_bytes(n->part, n->side);
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
