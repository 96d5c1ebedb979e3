#ifndef PRATTLE_WEIGHTS_OPEN_H
#define PRATTLE_WEIGHTS_OPEN_H
/* From a path to a source: which format it is. */
#include "model/base/progress.h"
#include "weights/tensors/source.h"

/*
 * Open what path names:
 *
 *     a folder, model.safetensors, *.index.json, *.bin, *.gguf
 *     bundled               the model that ships
 *     an adapter's folder   the base that it names, the adapter merged in
 *     a run's folder        its newest whole checkpoint, named by a note and by s->name
 *     openai-community/gpt2@main   a model of the Hub, from the cache or downloaded (find.h)
 *     random:NAME           random weights; NAME is a size (gpt2) or a config.json, and may be
 *                           followed by sizes, a tokenizer and a seed:
 *                           random:gpt2,n_layer=4,vocab_size=512,tokenizer=PATH@42
 *
 * tokenizer=PATH borrows the vocabulary of another model; vocab_padded=512 pads it to 512 if it has
 * 385 to 512 tokens. seed is for random names without one. Warnings go to p; so does a note that a
 * file here has the name bundled or random:NAME. If need_weights is false, a GGUF file or folder
 * with only a vocabulary, or nanoGPT's meta.pkl, opens with an empty s->table; else that is ERR_MISSING.
 */
int source_open(struct source *s, const char *path, uint64_t seed, bool need_weights,
                const struct progress *p);

#endif
