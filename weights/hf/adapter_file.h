#ifndef PRATTLE_WEIGHTS_HF_ADAPTER_FILE_H
#define PRATTLE_WEIGHTS_HF_ADAPTER_FILE_H
/*
 * Adapters in files as PEFT writes them: a folder with adapter_config.json and
 * adapter_model.safetensors (or adapter_model.bin), whose tensors are named
 * base_model.model.transformer.h.0.attn.c_attn.lora_A.weight [r,in] and lora_B.weight
 * [out,r]. The file's metadata has the sample of the base's weights (weights_sample.h), which
 * others ignore.
 */
#include "model/adapter.h"
#include "model/base/file_set.h"

/* Whether there is an adapter_config.json. */
bool adapter_is_folder(const char *path);
/* An open folder, whose configuration is read. */
struct adapter_folder {
    char *path;                  /* owned */
    void *config;                /* JSON */
    const struct file_set *open; /* its files that are open already; borrowed; NULL: none */
};
/* open: those of its files that are open already, for as long as f is (NULL: none). ERR_MISSING,
 * ERR_FORMAT; f is then closed. */
int adapter_open(struct adapter_folder *f, const char *path, const struct file_set *open);
void adapter_close(struct adapter_folder *f); /* accepts a zeroed one */
/*
 * Read and check the whole adapter, for models of configuration c. ERR_UNSUPPORTED names what would
 * compute something other than W + scale A^T B (biases, DoRA, patterns of ranks, ...); ERR_MISSING
 * and ERR_MISMATCH name tensors that are missing, of another shape, or left over; ERR_RANGE: values
 * that are NaN or infinite. The message begins "cannot load the adapter PATH".
 */
int adapter_read_open(struct adapter **out, const struct adapter_folder *f, const struct config *c);
/* The same for a folder by its path, and for one with files that are open already. */
int adapter_read(struct adapter **out, const char *path, const struct config *c);
int adapter_read_files(struct adapter **out, const char *path, const struct file_set *open,
                       const struct config *c);
/* The base model that the configuration names, as written there, in new memory; NULL: none. */
int adapter_base_name(char **out, const struct adapter_folder *f);
/* Write its files into an existing folder. base: the path of its model. */
int adapter_write(const struct adapter *a, const char *folder, const char *base);
/* ERR_EXISTS: path is that of the base of an adapter, or the folder that its file is in; written
 * over, it would be lost. base NULL: none. */
int adapter_spare_base(const char *path, const char *base);
/* Write its folder, atomically; a->path is then path, and a is unchanged since. ERR_EXISTS without
 * force, and where path has a whole model. */
int adapter_save(struct adapter *a, const char *path, const char *base, bool force);

#endif
