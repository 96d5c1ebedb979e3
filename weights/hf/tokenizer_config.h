#ifndef PRATTLE_WEIGHTS_HF_TOKENIZER_CONFIG_H
#define PRATTLE_WEIGHTS_HF_TOKENIZER_CONFIG_H
/*
 * tokenizer_config.json of a Hugging Face folder: add_prefix_space, add_bos_token, and the
 * added tokens that the other files lack.
 */
#include "model/base/progress.h"
#include "weights/hf/vocab_draft.h"

/* n bytes of text, over what the others gave. What is no good is left out with a note, and is no
 * reason to refuse a tokenizer: 0, or ERR_NOMEM. */
int tokenizer_config_read(struct vocab_draft *d, const char *text, size_t n,
                          const struct progress *p);

#endif
