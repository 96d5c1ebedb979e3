#ifndef PRATTLE_WEIGHTS_HUB_MODEL_PATH_H
#define PRATTLE_WEIGHTS_HUB_MODEL_PATH_H
/* From a name to the folder of a model in the Hugging Face cache, or to its file, where it is GGUF.
 */
#include "model/base/progress.h"

#include <stdbool.h>

/* The folder, if the cache has the model; nothing is sent. New memory; NULL without an error: not
 * there, or not a name. A model without a tokenizer counts only if so is the Hub's. */
char *hub_cached_path(const char *name);
/* The same, else it is downloaded. anew: also of a model that is there, the Hub is asked what its
 * revision is now. ERR_MISSING and ERR_IO say what to do. */
int hub_model_path(char **out, const char *name, bool anew, const struct progress *p);

#endif
