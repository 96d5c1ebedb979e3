#ifndef PRATTLE_TRAIN_STEP_BACKWARD_LOW_RANK_H
#define PRATTLE_TRAIN_STEP_BACKWARD_LOW_RANK_H
/* Backpropagation through LoRA branches (model/low_rank.h). */
#include "train/step/backward_pass.h"

/* For y = scale drop(x) A^T B: dx [rows,K] = the gradient of x, which overwrites dx, and the
 * gradients of A and B are added, from x [rows,K] and dy [rows,N]. To be called by every thread of
 * the job once x and dy are complete; ends with a barrier. */
void backward_low_rank(const struct backward_thread *p, const struct low_rank *w, float *dx,
                       const float *x, const float *dy);

#endif
