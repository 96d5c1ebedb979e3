#ifndef PRATTLE_WEIGHTS_GGUF_SOURCE_GGUF_H
#define PRATTLE_WEIGHTS_GGUF_SOURCE_GGUF_H
/* A GGUF file of architecture gpt2 as a source of weights. */
#include "model/base/file.h"
#include "model/base/progress.h"
#include "weights/tensors/source.h"

/* file is open; s takes it over, or it is closed on failure. Without need_weights a file with only
 * a vocabulary opens, with an empty table; else it is ERR_MISSING. */
int source_open_gguf(struct source *s, struct file file, bool need_weights,
                     const struct progress *p);

#endif
