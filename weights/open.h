#ifndef PRATTLE_WEIGHTS_OPEN_H
#define PRATTLE_WEIGHTS_OPEN_H
/* From a path to a source: which format it is. */
#include "model/base/progress.h"
#include "weights/tensors/source.h"

/*
 * path: a folder, model.safetensors, *.index.json, *.bin, *.gguf, bundled, random:NAME,
 * an adapter's folder (merged into the base it names), a run's folder (its newest whole checkpoint,
 * named by a note and by source->name), random:config.json (seed for these),
 * random:NAME,n_layer=4,vocab_size=512,tokenizer=PATH with other sizes, or the vocabulary of what
 * is at PATH (vocab_padded=512: unless that has 512 tokens or less than 128 fewer, its size).
 * Warnings go to progress, also that bundled or random:NAME is the name of a file here. What has a vocabulary but no weights (a GGUF file, a folder) opens with
 * source->table empty when need_weights is false, else ERR_MISSING.
 */
int source_open(struct source *s, const char *path, uint64_t seed, bool need_weights,
                const struct progress *p);

#endif
