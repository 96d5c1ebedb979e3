#ifndef PRATTLE_TRAIN_DATA_TOKENIZER_HASH_H
#define PRATTLE_TRAIN_DATA_TOKENIZER_HASH_H
/*
 * What decides the ids of a text, as part of a key to encoded texts.
 */
#include "model/base/sha256.h"
#include "model/tokenizer/tokenizer.h"

/* Texts with their lengths, so that no two lists give the same bytes; NULL is "". */
void tokenizer_hash_text(struct sha256 *h, const char *s);
void tokenizer_hash(struct sha256 *h, const struct tokenizer *t);

#endif
