#ifndef PRATTLE_WEIGHTS_HF_ADAPTER_FILE_H
#define PRATTLE_WEIGHTS_HF_ADAPTER_FILE_H
/*
 * Adapters in files, as PEFT has them: a folder with adapter_config.json and
 * adapter_model.safetensors (or adapter_model.bin), whose tensors are called
 * base_model.model.transformer.h.0.attn.c_attn.lora_A.weight [r,in] and lora_B.weight
 * [out,r].
 */
#include "model/adapter.h"
#include "weights/source.h"

/* Whether there is an adapter_config.json. */
bool adapter_is_folder(const char *path);
/*
 * Read and check all of it, for models of shape c. What would compute something else than
 * W + scale A^T B (biases, DoRA, patterns of ranks, ...) is refused by name; so are tensors
 * missing, of another shape, or left over, and values that are no numbers.
 */
int adapter_read(struct adapter **out, const char *path, const struct config *c);
/* The base model it names, as a path to load: as it stands, or from its own folder on, in fresh
 * memory. ERR_MISSING when that is not there. */
int adapter_base(char **out, const char *path);
/* Its files into a folder that is there; base: where its model is loaded from. */
int adapter_write(const struct adapter *a, const char *folder, const char *base);
/* A folder of its own, whole or not at all; a is then in a file. ERR_EXISTS without force. */
int adapter_save(struct adapter *a, const char *path, const char *base, bool force);

/* Merge the adapter into what is read from an open source: sums in fp32, then in the
 * precision of each tensor, or left in fp32. a is borrowed until source_close. */
int source_adapt(struct source *s, const struct adapter *a, bool own_precision);
/* An adapter's folder as a source: the base it names, the adapter merged into it. */
int source_open_adapter(struct source *s, const char *path, bool need_weights,
                        const struct progress *p);
/*
 * Put an adapter beside m, switched on, from m's source in its own precision, or from memory
 * where that has changed. a is m's on success and the caller's on failure; m is then as it
 * was. One that m had goes.
 */
int adapter_load(struct adapter *a, struct model *m, const struct progress *p);

#endif
