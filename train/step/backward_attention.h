#ifndef PRATTLE_TRAIN_STEP_BACKWARD_ATTENTION_H
#define PRATTLE_TRAIN_STEP_BACKWARD_ATTENTION_H
/* Attention's gradients, head by head: nothing of the size [T,T] is ever in memory. */
#include "train/step/backward_pass.h"

/* Bytes of scratch one thread needs for texts of up to `length` positions. */
size_t backward_attention_scratch_bytes(const struct config *c, int length, int attention_pieces);
/* The gradients of attention's weights and values in dqkv, from datt. By every
 * thread; ends with a barrier. */
void backward_attention(const struct backward_thread *p, int layer);

#endif
