#ifndef PRATTLE_WEIGHTS_GPT2_TOKENIZER_H
#define PRATTLE_WEIGHTS_GPT2_TOKENIZER_H
/*
 * GPT-2's tokenizer for models that have its vocabulary (gpt2_vocab.h) and no files of it, as
 * checkpoints of llm.c and nanoGPT.
 */
#include "model/base/progress.h"
#include "weights/tensors/source.h"

/*
 * Give a source without a tokenizer that of gpt2 in the Hugging Face cache, which a note says; does
 * nothing for other vocabularies, or where it is not there. One that cannot be read, or has
 * not all of GPT-2's tokens and merges, is left out, and a note says why. Nothing is sent.
 * ERR_NOMEM, ERR_INTERRUPTED.
 */
int gpt2_tokenizer_borrow(struct source *s, const struct progress *p);

#endif
