#ifndef PRATTLE_WEIGHTS_HF_GENERATION_CONFIG_H
#define PRATTLE_WEIGHTS_HF_GENERATION_CONFIG_H
/*
 * generation_config.json of a Hugging Face folder: how its authors would draw from the
 * model. The names that generation_config.c lists become a model's stored settings.
 */
#include "model/base/buf.h"
#include "model/base/progress.h"
#include "model/config.h"

/*
 * Append the settings of n bytes of JSON as lines of YAML. temperature, top_k and the
 * like count only where do_sample is true, as in transformers, and are transformers' defaults where
 * the file has none then; penalty_alpha counts only where
 * neither that nor num_beams asks for something else; end tokens, one or a list, only where they
 * are not c's own; suppress_tokens and bad_words_ids of one token
 * bias their logits by -inf. What has the wrong type, or no part
 * in it, is left out with a note, and so is what other names ask of transformers.
 * ERR_FORMAT: not a JSON object; out is then as it was.
 */
int generation_config_parse(struct buf *out, const char *text, size_t n, const struct config *c,
                            const struct progress *p);
/* The same of the end tokens alone, where config.json has a list of them. */
int generation_config_stop_tokens(struct buf *out, const char *text, size_t n,
                                  const struct config *c, const struct progress *p);

#endif
