#ifndef PRATTLE_MODEL_TOKENIZER_RANDOM_VOCAB_H
#define PRATTLE_MODEL_TOKENIZER_RANDOM_VOCAB_H
/* A vocabulary for a model that was never trained. */
#include "model/tokenizer/tokenizer.h"

/*
 * A tokenizer of n tokens. Ids 0..255 are the bytes in GPT-2's order (printable ones first), the
 * last id is the end of text. The others are made-up words, so that the output of a random model is
 * readable; there are no merges, so no text is encoded to them. With fewer than 257 ids there are
 * only bytes. ERR_NOMEM.
 */
int random_vocab_new(struct tokenizer **out, int n);

#endif
