#ifndef PRATTLE_WEIGHTS_GGUF_GGUF_KEEP_H
#define PRATTLE_WEIGHTS_GGUF_GGUF_KEEP_H
/*
 * What a GGUF file says besides the model: its author and license, a chat template. It is copied
 * into s->keys, as it stands in the file, to be written into another GGUF file. So are the types of
 * tokens, into s->token_types, where there is one for each row of the embedding: a tokenizer knows
 * which are special, not of which kind.
 *
 * s    with configuration and tokenizer
 */
#include "weights/gguf/gguf_table.h"
#include "weights/tensors/source.h"

int gguf_keep_keys(struct source *s, const struct gguf *g);

#endif
