#ifndef PRATTLE_WEIGHTS_HF_SAVE_HF_H
#define PRATTLE_WEIGHTS_HF_SAVE_HF_H
/* A source as a Hugging Face folder that transformers opens. */
#include "model/base/progress.h"
#include "weights/tensors/save_config.h"
#include "weights/tensors/source.h"

/* Nothing is changed on disk unless all of it could be written. */
int source_save_hf(struct source *s, const char *path, const struct save_config *c,
                   const struct progress *p);

#endif
