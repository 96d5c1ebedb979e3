#ifndef PRATTLE_TRAIN_RUN_ADAPTER_H
#define PRATTLE_TRAIN_RUN_ADAPTER_H
/*
 * Runs that train an adapter while the model's own weights are frozen (lora.rank above 0). In other
 * runs run_adapter_open, _guard, _begin, _restore and _close do nothing.
 */
#include "model/adapter.h"
#include "train/run/checkpoint.h"

struct run;
struct run_config;

/* To be called when r has weights but no optimizer yet; sets r->trainable. */
int run_adapter_open(struct run *r);
/* Have the optimizer refuse steps whose merged weights the model in memory could not hold. */
int run_adapter_guard(struct run *r);
/* In a new run, begin with the adapter of lora.adapter. ERR_RANGE: the model in memory could not
 * hold its merged weights. */
int run_adapter_begin(struct run *r);
/* Read the adapter of lora.adapter, for the caller to free; NULL: none is set. ERR_MISMATCH: it
 * does not match the settings. */
int run_adapter_first(struct adapter **out, const struct run_config *c, const struct config *shape);
int run_adapter_restore(struct run *r, const struct checkpoint *cp);
/* Copy the trained adapter to the model's and switch it on. */
void run_adapter_publish(struct run *r);
/* If the model's copy is the one in the newest checkpoint, mark it as saved there. */
void run_adapter_saved(struct run *r);
void run_adapter_close(struct run *r);

#endif
