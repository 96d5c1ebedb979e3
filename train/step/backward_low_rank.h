#ifndef PRATTLE_TRAIN_STEP_BACKWARD_LOW_RANK_H
#define PRATTLE_TRAIN_STEP_BACKWARD_LOW_RANK_H
/* The gradients of LoRA branches (model/low_rank.h). */
#include "train/step/backward_pass.h"

/* Of y = scale drop(x) A^T B: dx, not added to, and the gradients of A and B, from dy; all whole
 * in every thread. Ends with a barrier. */
void backward_low_rank(const struct backward_thread *p, const struct low_rank *w, float *dx,
                       const float *x, const float *dy);

#endif
