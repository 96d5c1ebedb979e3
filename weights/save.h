#ifndef PRATTLE_WEIGHTS_SAVE_H
#define PRATTLE_WEIGHTS_SAVE_H
/*
 * Writing a source: to a Hugging Face folder (config.json, model.safetensors, vocab.json,
 * merges.txt, tokenizer.json, generation_config.json), or, if the path ends in .gguf, to one GGUF
 * file.
 */
#include "model/base/progress.h"
#include "model/model.h"
#include "weights/tensors/save_config.h"
#include "weights/tensors/source.h"

/* Atomic: on failure nothing on disk is changed. ERR_EXISTS without c->force, and where path has
 * the base of an adapter that is merged into s, or is a run's folder or checkpoint; ERR_RANGE: path
 * has the name of another kind of file.
 */
int source_save(struct source *s, const char *path, const struct save_config *c,
                const struct progress *p);
/* `prattle convert IN OUT`: source_open, then source_save. */
int weights_convert(const char *in, const char *out, uint64_t seed, const struct save_config *c,
                    const struct progress *p);
/*
 * `:save`. An unchanged model is copied from its source in its own precision (source_of_model); a
 * changed one is written from memory, and then counts as unchanged with path as its source, unless
 * it was converted. An adapter that is on is merged into what is written; the model's source then
 * stays.
 */
int model_save(struct model *m, const char *path, const struct save_config *c,
               const struct progress *p);

#endif
