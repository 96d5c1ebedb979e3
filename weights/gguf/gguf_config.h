#ifndef PRATTLE_WEIGHTS_GGUF_GGUF_CONFIG_H
#define PRATTLE_WEIGHTS_GGUF_GGUF_CONFIG_H
#include "model/config.h"
#include "weights/gguf/gguf_table.h"

/* The configuration as the keys have it: everything but n_vocab, the special ids and
 * tie_word_embeddings. Not checked as a whole. */
int gguf_read_config(struct config *c, const struct gguf *g);

#endif
