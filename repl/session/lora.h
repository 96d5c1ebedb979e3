#ifndef PRATTLE_REPL_SESSION_LORA_H
#define PRATTLE_REPL_SESSION_LORA_H
/*
 * The LoRA adapter of the session's model.
 */
#include "model/adapter.h"

struct repl;

/* From its folder, for this model; the caller's to free. */
int lora_read(struct repl *r, struct adapter **out, const char *path);
/* Takes a, and puts it beside the model, switched on. On failure nothing of the model has changed. */
int lora_stand_beside(struct repl *r, struct adapter *a);
/* Both. */
int lora_load(struct repl *r, const char *path);
/* "on, rank 8, ...": what people are told of it. */
const char *lora_about(char *out, size_t n, const struct adapter *a);

#endif
