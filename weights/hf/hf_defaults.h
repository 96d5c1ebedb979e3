#ifndef PRATTLE_WEIGHTS_HF_HF_DEFAULTS_H
#define PRATTLE_WEIGHTS_HF_HF_DEFAULTS_H
#include "model/base/file_set.h"
#include "model/base/progress.h"
#include "weights/tensors/source.h"

/*
 * Set s->defaults and s->defaults_file to the settings stored with a folder's model: those of
 * prattle.yaml, else of generation_config.json, else the stop tokens of config.json, whose text is
 * `config` (empty: there is no such file). open: files of the folder that are open already (NULL:
 * none). generation_config.json goes to s->kept where it is an object, whether its settings count or
 * not; so does `config`.
 */
int hf_defaults_read(struct source *s, const char *folder, const struct file_set *open,
                     const struct buf *config, const struct progress *p);

#endif
