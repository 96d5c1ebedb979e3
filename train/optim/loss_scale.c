#include "train/optim/loss_scale.h"

#include <math.h>

bool loss_scale_overflow(struct loss_scale *s)
{
    if (s->scale <= LOSS_SCALE_MIN)
        return false;
    s->scale = fmax(s->scale / 2, LOSS_SCALE_MIN);
    s->overflows++;
    s->steps = 0;
    return true;
}

void loss_scale_advance(struct loss_scale *s, int growth)
{
    if (++s->steps < growth)
        return;
    s->scale = fmin(s->scale * 2, LOSS_SCALE_MAX);
    s->steps = 0;
}
