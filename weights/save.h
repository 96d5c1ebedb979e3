#ifndef PRATTLE_WEIGHTS_SAVE_H
#define PRATTLE_WEIGHTS_SAVE_H
/* From a source to files: an HF folder (config.json, model.safetensors, vocab.json,
 * merges.txt, tokenizer.json, generation_config.json) or, when the path ends in
 * .gguf, one GGUF file. */
#include "model/base/progress.h"
#include "model/model.h"
#include "weights/tensors/save_config.h"
#include "weights/tensors/source.h"

/* Nothing is changed on disk unless all of it could be written. */
int source_save(struct source *s, const char *path, const struct save_config *c,
                const struct progress *p);
/* `prattle convert IN OUT`. */
int weights_convert(const char *in, const char *out, uint64_t seed, const struct save_config *c,
                    const struct progress *p);
/*
 * `:save`: an unchanged model is read again from its source, in its own precision
 * (ERR_MISMATCH if that has become a model of another shape); a changed one is
 * written from memory. It is then unchanged, with path as its source, unless another
 * precision was asked for. An adapter that is on is merged into what is written; the model's
 * source then stays.
 */
int model_save(struct model *m, const char *path, const struct save_config *c,
               const struct progress *p);

#endif
