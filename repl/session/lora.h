#ifndef PRATTLE_REPL_SESSION_LORA_H
#define PRATTLE_REPL_SESSION_LORA_H
/*
 * The LoRA adapter of a model: from its folder, with progress.
 */
#include "model/adapter.h"

struct model;

/* From its folder, for this model; the caller's to free. */
int lora_read(struct adapter **out, const struct model *m, const char *path);
/* Take a, and attach it to the model, switched on. On failure nothing of the model has changed. */
int lora_attach(struct model *m, struct adapter *a);
/* Both. */
int lora_load(struct model *m, const char *path);
/* "on, rank 8, ...": what people are told of it. */
const char *lora_about(char *out, size_t n, const struct adapter *a);

#endif
