#ifndef PRATTLE_TRAIN_CONFIG_RESOLVE_H
#define PRATTLE_TRAIN_CONFIG_RESOLVE_H
/*
 * What follows from a run's settings together and from the model's shape.
 */
#include "train/config/run_config.h"

/*
 * The path of the model to be trained, for model_load with training.seed: "" for the one in
 * memory, "random:gpt2,n_layer=4,n_head=4" with the sizes of the section for a random one.
 */
int run_config_source(const struct run_config *c, struct buf *out);
/* Its shape, without its weights; loaded: of the model in memory, NULL: none. */
int run_config_shape(const struct run_config *c, const struct config *loaded, struct config *out);
/*
 * Resolve what depends on other settings: sequence_length (a preset's is at most the
 * context), gradient_accumulation, global_batch_size, dropout, label, folder are then the
 * values in force; and refuse what does not go together.
 */
int run_config_resolve(struct run_config *c, const struct config *shape);
/* The same of a run that was, whatever processes it had. */
int run_config_resolve_stored(struct run_config *c, const struct config *shape);
/* Of a run that was, the gradient_accumulation that is not stored with its global_batch_size, or
 * the other way round; needs no model. */
int run_config_resolve_implied(struct run_config *c);
/* The label and the folder alone, which need no model. */
int run_config_resolve_names(struct run_config *c);

#endif
