#ifndef PRATTLE_WEIGHTS_GGUF_GGUF_CONFIG_H
#define PRATTLE_WEIGHTS_GGUF_GGUF_CONFIG_H
#include "model/config.h"
#include "weights/gguf/gguf_table.h"

/* Fill *c from the keys, except n_vocab, the special ids and tie_word_embeddings. The result is not
 * checked (config_check). ERR_MISSING, ERR_RANGE, ERR_UNSUPPORTED name the key. */
int gguf_read_config(struct config *c, const struct gguf *g);

#endif
