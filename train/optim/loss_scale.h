#ifndef PRATTLE_TRAIN_OPTIM_LOSS_SCALE_H
#define PRATTLE_TRAIN_OPTIM_LOSS_SCALE_H
/*
 * Loss scaling (Micikevicius et al. 2018): the loss is multiplied by a power of two, so
 * that small gradients are no zeros of binary16, and the gradients divided by it where they
 * are used. Automatic: a step whose gradients overflow is left out and the scale halved;
 * after so many others in a row it is doubled.
 */
#include <stdbool.h>
#include <stdint.h>

#define LOSS_SCALE_MIN 1.0
#define LOSS_SCALE_MAX 16777216.0

struct loss_scale {
    double scale;
    int64_t overflows; /* steps left out, so far */
    int64_t steps;     /* since the scale changed */
};

/* A step with a finite loss whose gradients are not: halve the scale. False: it is the
 * least already, and not to blame. */
bool loss_scale_overflow(struct loss_scale *s);
/* A step that was taken. */
void loss_scale_good(struct loss_scale *s, int growth);

#endif
