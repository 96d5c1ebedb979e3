#ifndef PRATTLE_TRAIN_CONFIG_RESOLVE_BATCHES_H
#define PRATTLE_TRAIN_CONFIG_RESOLVE_BATCHES_H
/* The windows of a step: micro-batches and gradient blocks. */
#include "train/config/run_config.h"

/* ERR_RANGE: they do not divide so, and how they do. */
int run_config_resolve_batches(struct run_config *c);

/* Whether neither the size nor the number of micro-batches was named by the user: the size then
 * follows from global_batch_size and gradient_blocks. */
bool run_config_batches_follow(const struct run_config *c);
/* Micro-batches of the size that nobody named become as small as c's gradient_blocks have them: the
 * results are the same bits. */
void run_config_fit_batches(struct run_config *c);
/* The largest micro-batch, up to c's, in which each of so many blocks of c's step has whole ones.
 */
int run_config_micro_for(const struct run_config *c, int blocks);

enum { BATCHES_TEXT = 80 };
/* " micro_batch_size=2 gradient_accumulation=4": by which as large a step as c's divides into so
 * many gradient blocks, where by its own it does not; " global_batch_size=6", the next larger step
 * that does, where none as large can; "" where it does. */
const char *run_config_batches_for(char text[BATCHES_TEXT], const struct run_config *c, int blocks);

#endif
