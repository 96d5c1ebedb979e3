#ifndef PRATTLE_TRAIN_CONFIG_LAYOUT_ADVICE_H
#define PRATTLE_TRAIN_CONFIG_LAYOUT_ADVICE_H
/*
 * What a refusal advises, as settings that can be typed: with them a run is not refused again for
 * what they bring. Each text is put into out and returned.
 */
#include "train/config/run_config.h"

enum { ADVICE_TEXT = 400 };

/* Stages and shards near to these of which the processes there are a multiple, with what else
 * follows: "layers_per_device=4,4,4 virtual_stages=1". The list is left out where it is the run's,
 * which `keeps` says. */
const char *advise_layout(char out[ADVICE_TEXT], const struct run_config *c,
                          const struct config *shape, int stages, int tensor, bool keeps);
/* "tensor_parallel=1", "layers_per_device=none" or "phased=off", with what is of use with these
 * alone. */
const char *advise_whole_layers(char out[ADVICE_TEXT], const struct run_config *c);
const char *advise_no_stages(char out[ADVICE_TEXT], const struct run_config *c);
const char *advise_in_memory(char out[ADVICE_TEXT], const struct run_config *c);

/* How many replicas there are, or are asked for; at least 1. */
int advice_replicas(const struct run_config *c);
/* Whether the run can be divided among shards at all. */
bool advice_has_shards(const struct run_config *c, const struct config *shape);

#endif
