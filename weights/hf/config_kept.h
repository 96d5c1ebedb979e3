#ifndef PRATTLE_WEIGHTS_HF_CONFIG_KEPT_H
#define PRATTLE_WEIGHTS_HF_CONFIG_KEPT_H
/* config.json written again for a model that came with one. */
#include "model/base/buf.h"
#include "model/base/dtype.h"
#include "model/config.h"

/*
 * Append a config.json for c with weights of a type, made of the n bytes of the one that the model
 * came with: its members stay, other programs' too, but for the type of the weights, the
 * architecture, and what c says otherwise. Where none of these differs, the bytes are the same.
 */
int hf_config_write_kept(struct buf *out, const struct config *c, enum dtype dtype,
                         const char *text, size_t n);

#endif
