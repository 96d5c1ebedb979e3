#ifndef PRATTLE_WEIGHTS_SAVE_H
#define PRATTLE_WEIGHTS_SAVE_H
/* From a source to files: an HF folder (config.json, model.safetensors, vocab.json,
 * merges.txt, tokenizer.json, generation_config.json) or, when the path ends in
 * .gguf, one GGUF file. */
#include "weights/source.h"

enum save_dtype { SAVE_KEEP, SAVE_F32, SAVE_F16, SAVE_BF16 };

struct save_config {
    enum save_dtype dtype; /* KEEP: tensors bit for bit */
    bool force;            /* overwrite */
    bool compat;           /* GGUF: write output.weight also when tied */
};

/* Nothing is changed on disk unless all of it could be written. */
int source_save(struct source *s, const char *path, const struct save_config *c,
                const struct progress *p);
int source_save_hf(struct source *s, const char *path, const struct save_config *c,
                   const struct progress *p);
int source_save_gguf(struct source *s, const char *path, const struct save_config *c,
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
