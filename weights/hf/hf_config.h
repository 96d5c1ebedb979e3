#ifndef PRATTLE_WEIGHTS_HF_HF_CONFIG_H
#define PRATTLE_WEIGHTS_HF_HF_CONFIG_H
/*
 * config.json of a Hugging Face folder.
 */
#include "model/base/file.h"
#include "model/params.h"

/* Read and checked. Fields that are missing have transformers' defaults; what cannot be
 * computed (an activation not in activation.h, add_cross_attention) is
 * ERR_UNSUPPORTED; a field of the wrong type or out of range ERR_RANGE. */
int hf_config_read(struct config *c, const char *path);
/* The same of an open file; *text, empty before, has what it says. */
int hf_config_read_file(struct config *c, struct buf *text, const struct file *file);
/* The same of n bytes in memory. *c is untouched on failure. */
int hf_config_parse(struct config *c, const char *text, size_t n);

/* Append the text of a config.json that transformers opens; dtype is what it is told
 * the weights are (torch_dtype). */
int hf_config_write(struct buf *out, const struct config *c, enum dtype dtype);

#endif
