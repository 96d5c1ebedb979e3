#ifndef PRATTLE_WEIGHTS_GGUF_GGUF_WRITE_H
#define PRATTLE_WEIGHTS_GGUF_GGUF_WRITE_H
/* Write a source as one GGUF file, version 3, architecture gpt2, which llama.cpp can open. */
#include "model/base/progress.h"
#include "weights/tensors/save_config.h"
#include "weights/tensors/source.h"

/* Atomic: on failure nothing on disk is changed. ERR_EXISTS without c->force. Notes what GGUF
 * cannot express. */
int source_save_gguf(struct source *s, const char *path, const struct save_config *c,
                     const struct progress *p);

#endif
