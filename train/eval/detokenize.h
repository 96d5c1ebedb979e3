#ifndef PRATTLE_TRAIN_EVAL_DETOKENIZE_H
#define PRATTLE_TRAIN_EVAL_DETOKENIZE_H
/*
 * Detokenization: undoes the splitting of words and punctuation in WikiText and PTB by the rules of
 * Megatron-LM's zero-shot evaluation, in the same order.
 */
#include "model/base/buf.h"

/* Changes the text in place. ERR_NOMEM: only some of the rules were applied. */
int detokenize_wikitext(struct buf *text);
int detokenize_ptb(struct buf *text);

#endif
