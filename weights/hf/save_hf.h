#ifndef PRATTLE_WEIGHTS_HF_SAVE_HF_H
#define PRATTLE_WEIGHTS_HF_SAVE_HF_H
/* Write a source as a Hugging Face folder, which transformers can open. */
#include "model/base/progress.h"
#include "weights/tensors/save_config.h"
#include "weights/tensors/source.h"

/* Atomic: on failure nothing on disk is changed. ERR_EXISTS without c->force. */
int source_save_hf(struct source *s, const char *path, const struct save_config *c,
                   const struct progress *p);

#endif
