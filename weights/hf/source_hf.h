#ifndef PRATTLE_WEIGHTS_HF_SOURCE_HF_H
#define PRATTLE_WEIGHTS_HF_SOURCE_HF_H
/* Hugging Face files as a source: config.json and, next to it, safetensors or torch files, whole or
 * in shards listed by an index. */
#include "model/base/file_set.h"
#include "model/base/progress.h"
#include "weights/tensors/source.h"

/* path: a folder, with file.path NULL; or a tensor file or an index, open as `file`, which s takes
 * over or which is closed on failure. need_weights: a folder with only a tokenizer is ERR_MISSING.
 */
int source_open_hf(struct source *s, const char *path, struct file file, bool need_weights,
                   const struct progress *p);
/* The same for a folder with files that are open already, which stay the caller's. */
int source_open_hf_files(struct source *s, const char *folder, const struct file_set *open,
                         const struct progress *p);

#endif
