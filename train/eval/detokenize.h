#ifndef PRATTLE_TRAIN_EVAL_DETOKENIZE_H
#define PRATTLE_TRAIN_EVAL_DETOKENIZE_H
/*
 * Undoing what WikiText's and PTB's makers did to words and signs, by the rules of
 * Megatron-LM's zero-shot evaluation, in its order.
 */
#include "model/base/buf.h"

/* The text in place; ERR_NOMEM leaves it somewhere between. */
int detokenize_wikitext(struct buf *text);
int detokenize_ptb(struct buf *text);

#endif
