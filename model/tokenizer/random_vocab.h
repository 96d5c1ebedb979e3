#ifndef PRATTLE_MODEL_TOKENIZER_RANDOM_VOCAB_H
#define PRATTLE_MODEL_TOKENIZER_RANDOM_VOCAB_H
/* A vocabulary for a model that was never trained. */
#include "model/tokenizer/tokenizer.h"

/*
 * A tokenizer of n tokens to type at the model with: ids 0..255 are the bytes in GPT-2's
 * order (printable ones first), the last id ends a text. Those between are made-up words, so
 * that there is something to see in what the model says; without merges no text is encoded to
 * them. Below 257 ids there are only bytes.
 */
int random_vocab_new(struct tokenizer **out, int n);

#endif
