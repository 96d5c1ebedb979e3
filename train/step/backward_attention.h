#ifndef PRATTLE_TRAIN_STEP_BACKWARD_ATTENTION_H
#define PRATTLE_TRAIN_STEP_BACKWARD_ATTENTION_H
/* Backpropagation through attention, head by head, in memory proportional to T (Dao et al. 2022).
 */
#include "train/step/backward_pass.h"

/* Bytes of scratch one thread needs for sequences of up to `length` positions. */
size_t backward_attention_scratch_bytes(const struct config *c, int length, int attention_pieces);
/* b->dqkv = the gradients of queries, keys and values, from b->datt. To be called by every thread
 * of the job; ends with a barrier. */
void backward_attention(const struct backward_thread *p, int layer);

#endif
