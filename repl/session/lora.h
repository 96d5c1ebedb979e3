#ifndef PRATTLE_REPL_SESSION_LORA_H
#define PRATTLE_REPL_SESSION_LORA_H
/*
 * Loading the LoRA adapter of a model, with progress.
 */
#include "model/adapter.h"

struct model;

/* Read an adapter for m from its folder; the caller frees it. */
int lora_read(struct adapter **out, const struct model *m, const char *path);
/* Take a and attach it to m, switched on. On failure m is unchanged. */
int lora_attach(struct model *m, struct adapter *a);
/* Warn where the base of an adapter for this model is a checkpoint that its run may remove. */
void lora_warn_of_base(const struct model *m);
/* lora_read and lora_attach. */
int lora_load(struct model *m, const char *path);
/* A description for the user: "on, rank 8, ...". */
const char *lora_about(char *out, size_t n, const struct adapter *a);

#endif
