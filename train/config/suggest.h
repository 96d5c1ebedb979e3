#ifndef PRATTLE_TRAIN_CONFIG_SUGGEST_H
#define PRATTLE_TRAIN_CONFIG_SUGGEST_H
/*
 * What learning_rate=auto and epochs=auto stand for: a peak rate from the model's size, and a
 * number of passes from the size of the data. Both were fitted to the sweeps of
 * train/config/FINETUNE.md, in steps of about a thousand tokens, with AdamW and a linear decay.
 */
#include <stdbool.h>
#include <stdint.h>

/* A peak rate of two digits, for all weights of a model of n_params or for an adapter. */
double suggest_learning_rate(uint64_t n_params, bool adapter);
/* How often to read n_tokens. */
double suggest_epochs(uint64_t n_tokens);

#endif
