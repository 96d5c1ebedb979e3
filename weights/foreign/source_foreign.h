#ifndef PRATTLE_WEIGHTS_FOREIGN_SOURCE_FOREIGN_H
#define PRATTLE_WEIGHTS_FOREIGN_SOURCE_FOREIGN_H
/*
 * Checkpoints of other trainers as sources of weights: nanoGPT, minGPT, fairseq, Languini
 * (kinds.h). The tokenizer is that of files beside them: GPT-2's, nanoGPT's meta.pkl, fairseq's
 * dict.txt.
 */
#include "model/base/file.h"
#include "model/base/progress.h"
#include "weights/tensors/source.h"

/*
 * Open the checkpoint at path, open as *file, which is taken over: then its path is NULL.
 * ERR_MISSING with *file open still: it is none of these, and may be a file of Hugging Face.
 */
int source_open_foreign(struct source *s, struct file *file, const char *path,
                        const struct progress *p);
/* The checkpoint in a folder without a model of Hugging Face, in new memory; *out NULL: there is
 * none. ERR_NOMEM. */
int foreign_find(char **out, const char *folder);
/* Whether a file of this name may be such a checkpoint. */
bool foreign_is_name(const char *path);

#endif
