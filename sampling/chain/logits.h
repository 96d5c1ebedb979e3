#ifndef PRATTLE_SAMPLING_CHAIN_LOGITS_H
#define PRATTLE_SAMPLING_CHAIN_LOGITS_H
/*
 * Logits by which a token can be chosen or scored. Weights that are NaN or infinite, or keys and
 * values beyond fp16, make NaN of all logits behind them: of these there is no token, probability
 * or loss, and every reader of logits says so by the same sentence.
 */
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>

/* x [n] has no NaN and no +infinity, and a number that is not -infinity (which a mask leaves). */
bool logits_are_finite(const float *x, size_t n);
/* ERR_NOT_FINITE, with the model, how many tokens of a text its logits stand behind, and what may
 * help. */
int logits_refuse(const struct model *m, size_t n_tokens);

#endif
