#ifndef PRATTLE_WEIGHTS_GGUF_GGUF_WRITE_H
#define PRATTLE_WEIGHTS_GGUF_GGUF_WRITE_H
/* A source as one GGUF file, version 3, architecture gpt2, that llama.cpp opens. */
#include "model/base/progress.h"
#include "weights/tensors/save_config.h"
#include "weights/tensors/source.h"

/* Nothing is changed on disk unless all of it could be written. */
int source_save_gguf(struct source *s, const char *path, const struct save_config *c,
                     const struct progress *p);

#endif
