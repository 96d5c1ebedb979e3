#ifndef PRATTLE_WEIGHTS_HF_ADAPTER_FILE_H
#define PRATTLE_WEIGHTS_HF_ADAPTER_FILE_H
/*
 * Adapters in files, as PEFT has them: a folder with adapter_config.json and
 * adapter_model.safetensors (or adapter_model.bin), whose tensors are called
 * base_model.model.transformer.h.0.attn.c_attn.lora_A.weight [r,in] and lora_B.weight
 * [out,r].
 */
#include "model/adapter.h"
#include "model/base/file_set.h"

/* Whether there is an adapter_config.json. */
bool adapter_is_folder(const char *path);
/* One that is open: its configuration was read, once. */
struct adapter_folder {
    char *path;                  /* owned */
    void *config;                /* JSON */
    const struct file_set *open; /* those of its files that are; borrowed, NULL: none */
};
/* open: those of its files that are, and stay so as long as f (NULL: none). */
int adapter_open(struct adapter_folder *f, const char *path, const struct file_set *open);
void adapter_close(struct adapter_folder *f); /* of a zeroed one too */
/*
 * Read and check all of it, for models of shape c. What would compute something else than
 * W + scale A^T B (biases, DoRA, patterns of ranks, ...) is refused by name; so are tensors
 * missing, of another shape, or left over, and values that are NaN or infinite.
 */
int adapter_read_open(struct adapter **out, const struct adapter_folder *f, const struct config *c);
/* The same of a folder that is opened for it; and of one some of whose files are open. */
int adapter_read(struct adapter **out, const char *path, const struct config *c);
int adapter_read_files(struct adapter **out, const char *path, const struct file_set *open,
                       const struct config *c);
/* The base model it names, as its file has it, in fresh memory; NULL where it names none. */
int adapter_base_name(char **out, const struct adapter_folder *f);
/* Its files into a folder that is there; base: where its model is loaded from. */
int adapter_write(const struct adapter *a, const char *folder, const char *base);
/* A folder of its own, whole or not at all; a is then in a file. ERR_EXISTS without force. */
int adapter_save(struct adapter *a, const char *path, const char *base, bool force);

#endif
