#ifndef PRATTLE_WEIGHTS_HF_SOURCE_HF_H
#define PRATTLE_WEIGHTS_HF_SOURCE_HF_H
/* Hugging Face files as a source: config.json and, beside it, safetensors or torch
 * files, whole or in shards under an index. */
#include "model/base/file_set.h"
#include "model/base/progress.h"
#include "weights/tensors/source.h"

/* path: a folder, with file.path NULL; or a file of tensors or an index, open as `file`, which is
 * the source's from then on, or closed. */
int source_open_hf(struct source *s, const char *path, struct file file, bool need_weights,
                   const struct progress *p);
/* A folder some of whose files are open; these stay the caller's. */
int source_open_hf_files(struct source *s, const char *folder, const struct file_set *open,
                         const struct progress *p);

#endif
