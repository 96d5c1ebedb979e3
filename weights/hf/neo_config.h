#ifndef PRATTLE_WEIGHTS_HF_NEO_CONFIG_H
#define PRATTLE_WEIGHTS_HF_NEO_CONFIG_H
/* What only GPT-Neo's config.json has (transformers' GPTNeoConfig): which layers are local. */
#include "model/base/buf.h"
#include "model/config.h"

#include <jansson.h>

/* transformers' defaults: those of GPT-Neo 1.3B. */
void neo_config_init(struct config *c);
/* Read window_size and attention_types, or else attention_layers, into a configuration with its
 * n_layer; without either, layers are global and local by turns. ERR_RANGE, ERR_FORMAT. */
int neo_config_read_layers(struct config *c, const json_t *o);
/* Append the file's beginning up to tie_word_embeddings, as hf_config_write needs it. */
int neo_config_write_shape(struct buf *out, const struct config *c);

#endif
