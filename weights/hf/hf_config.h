#ifndef PRATTLE_WEIGHTS_HF_HF_CONFIG_H
#define PRATTLE_WEIGHTS_HF_HF_CONFIG_H
/*
 * config.json of a Hugging Face folder.
 */
#include "model/base/file.h"
#include "model/params.h"

/* Read and check a file. Missing fields have transformers' defaults. ERR_UNSUPPORTED: what cannot
 * be computed (an activation not in activation.h, add_cross_attention); ERR_RANGE: a field of the
 * wrong type or out of range; ERR_MISSING, ERR_FORMAT. */
int hf_config_read(struct config *c, const char *path);
/* The same for an open file; *text, empty before, receives its contents. */
int hf_config_read_file(struct config *c, struct buf *text, const struct file *file);
/* The same for n bytes in memory. On failure *c is unchanged. */
int hf_config_parse(struct config *c, const char *text, size_t n);

/* Append the text of a config.json for transformers; dtype is that of the weights (torch_dtype). */
int hf_config_write(struct buf *out, const struct config *c, enum dtype dtype);

#endif
