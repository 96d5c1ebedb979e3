#ifndef PRATTLE_WEIGHTS_GGUF_GGUF_VOCAB_H
#define PRATTLE_WEIGHTS_GGUF_GGUF_VOCAB_H
#include "model/base/progress.h"
#include "weights/gguf/gguf_table.h"
#include "weights/tensors/source.h"

/* The tokenizer and the special ids. s->config.n_vocab is the rows of the embedding, which the
 * tokens must not exceed; 0, there being none, becomes the number of tokens. */
int gguf_read_vocab(struct source *s, const struct gguf *g, const struct progress *p);

#endif
