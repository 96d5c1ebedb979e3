#ifndef PRATTLE_WEIGHTS_GGUF_GGUF_VOCAB_H
#define PRATTLE_WEIGHTS_GGUF_GGUF_VOCAB_H
#include "model/base/progress.h"
#include "weights/gguf/gguf_table.h"
#include "weights/tensors/source.h"

/* Read the tokenizer and the special ids into s. s->config.n_vocab is the number of rows of the
 * embedding, which the tokens must not exceed (ERR_MISMATCH); 0, if there is no embedding, becomes
 * the number of tokens. A file without a tokenizer (tokenizer.ggml.model none) gives NULL. */
int gguf_read_vocab(struct source *s, const struct gguf *g, const struct progress *p);

#endif
