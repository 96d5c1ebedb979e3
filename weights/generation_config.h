#ifndef PRATTLE_GENERATION_CONFIG_H
#define PRATTLE_GENERATION_CONFIG_H
/*
 * generation_config.json of a Hugging Face folder: how its authors would draw from the
 * model. What our settings have too becomes a model's stored settings.
 */
#include "model/base/buf.h"
#include "model/base/progress.h"
#include "model/config.h"

/*
 * Append the settings of n bytes of JSON as lines of YAML. temperature, top_k and the
 * like count only where do_sample is true, as in transformers; an end token only where it
 * is not c's own. Of a list of end tokens the first counts, with a note; so does nothing
 * of the wrong type. ERR_FORMAT: not a JSON object; out is then as it was.
 */
int generation_config_parse(struct buf *out, const char *text, size_t n, const struct config *c,
                            const struct progress *p);

#endif
