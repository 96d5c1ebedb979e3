#ifndef PRATTLE_TRAIN_RUN_ADAPTER_H
#define PRATTLE_TRAIN_RUN_ADAPTER_H
/*
 * A run in which an adapter is trained and the model's own weights are frozen; for other runs
 * these do nothing.
 */
#include "model/adapter.h"
#include "train/run/checkpoint.h"

struct run;
struct run_config;

/* After weights and before the optimizer; without lora.rank all weights are trainable. */
int run_adapter_open(struct run *r);
/* The optimizer takes no step whose merged weights the model in memory could not hold. */
int run_adapter_guard(struct run *r);
/* A new run's begins as lora.adapter says. ERR_RANGE: its merged weights are not held. */
int run_adapter_begin(struct run *r);
/* The one of lora.adapter, for the caller to free, where it goes with the settings; NULL: none. */
int run_adapter_first(struct adapter **out, const struct run_config *c, const struct config *shape);
int run_adapter_restore(struct run *r, const struct checkpoint *cp);
/* A copy beside the model, on. */
void run_adapter_publish(struct run *r);
/* The model's copy is the one in the newest checkpoint, if it is. */
void run_adapter_saved(struct run *r);
void run_adapter_close(struct run *r);

#endif
