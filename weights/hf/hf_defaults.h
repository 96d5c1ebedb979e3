#ifndef PRATTLE_WEIGHTS_HF_HF_DEFAULTS_H
#define PRATTLE_WEIGHTS_HF_HF_DEFAULTS_H
#include "model/base/file_set.h"
#include "model/base/progress.h"
#include "weights/tensors/source.h"

/*
 * The settings that a folder's model comes with, as s->defaults and s->defaults_file: of
 * prattle.yaml, else of generation_config.json, else the end tokens of config.json, whose text is
 * `config` (empty: there is none). open: files of the folder that are open (NULL: none).
 */
int hf_defaults_read(struct source *s, const char *folder, const struct file_set *open,
                     const struct buf *config, const struct progress *p);

#endif
