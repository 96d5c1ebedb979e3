#ifndef PRATTLE_SAMPLING_GRAMMAR_GRAMMAR_CHECK_H
#define PRATTLE_SAMPLING_GRAMMAR_GRAMMAR_CHECK_H
/* What a grammar must not have, and what it need not. */
#include "sampling/grammar/grammar.h"

#include <stdbool.h>

/*
 * *rule: a rule that can begin with itself; -1: none. loops [n_rules]: rules of * and of {m,}, of
 * which a matcher notices that they come back to where they were. ERR_NOMEM.
 */
int grammar_left_recursion(const struct grammar *g, const bool *loops, int *rule);
/*
 * Let alternatives that derive no text, since a rule in them never comes to an end, begin with a
 * byte of the set `nothing`, which is empty: no text begins what it cannot end. *any: root derives
 * a text. ERR_NOMEM.
 */
int grammar_prune(struct grammar *g, int nothing, bool *any);

#endif
