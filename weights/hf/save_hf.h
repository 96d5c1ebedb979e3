#ifndef PRATTLE_WEIGHTS_HF_SAVE_HF_H
#define PRATTLE_WEIGHTS_HF_SAVE_HF_H
/* Write a source as a Hugging Face folder, which transformers can open. */
#include "model/base/progress.h"
#include "weights/tensors/save_config.h"
#include "weights/tensors/source.h"

/* Atomic: on failure nothing on disk is changed. ERR_EXISTS without c->force. */
int source_save_hf(struct source *s, const char *path, const struct save_config *c,
                   const struct progress *p);

/*
 * The same by parts, into a folder that the caller makes whole: all files but the weights; the
 * weights in one file; or some of the tensors, as Hugging Face divides large models, and the index
 * of all parts. Each file is whole or not there. ERR_EXISTS.
 */
struct hf_parts {
    int n;
    const int *of; /* [n_tensors], the part that each is in, 0 to n - 1; each part has one */
};
enum { HF_PART_NAME = 64 };
void hf_part_name(char out[HF_PART_NAME], int part, int n);
int hf_about_write(const char *folder, const struct source *s, const struct save_config *c);
int hf_weights_write(const char *folder, const struct source *s, const struct save_config *c,
                     const struct progress *p);
int hf_part_write(const char *folder, int part, const struct hf_parts *parts,
                  const struct source *s, const struct progress *p);
int hf_index_write(const char *folder, const struct hf_parts *parts, const struct source *s);

#endif
