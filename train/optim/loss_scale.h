#ifndef PRATTLE_TRAIN_OPTIM_LOSS_SCALE_H
#define PRATTLE_TRAIN_OPTIM_LOSS_SCALE_H
/*
 * Dynamic loss scaling (Micikevicius et al. 2018). The loss is multiplied by a power of two, so
 * that small gradients do not underflow in binary16, and the optimizer divides the gradients by it.
 * A step whose gradients overflow is skipped and halves the scale; `growth` steps in a row
 * without overflow double it:
 *
 *   overflow:  scale = max(scale / 2, LOSS_SCALE_MIN), steps = 0
 *   step:      steps += 1; at `growth`: scale = min(2 scale, LOSS_SCALE_MAX), steps = 0
 */
#include <stdbool.h>
#include <stdint.h>

#define LOSS_SCALE_MIN 1.0
#define LOSS_SCALE_MAX 16777216.0

struct loss_scale {
    double scale;
    int64_t overflows; /* steps skipped so far */
    int64_t steps;     /* taken since the scale last changed */
};

/* The loss of a step is finite, but its gradients are not: halve the scale. False if the scale is
 * LOSS_SCALE_MIN already, so that scaling did not cause the overflow. */
bool loss_scale_overflow(struct loss_scale *s);
/* A step was taken. */
void loss_scale_advance(struct loss_scale *s, int growth);

#endif
