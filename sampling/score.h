#ifndef PRATTLE_SCORE_H
#define PRATTLE_SCORE_H
/* Log-probabilities of a given text: what :why and the evaluations stand on. */
#include "kvcache/engine.h"

/*
 * For targets first..n-1 of ids (first >= 1): f(user, i, logits [V]) with the logits
 * that predict ids[i]; rows are computed in slices, never [T,V] at once. A fresh
 * kv_seq of the engine's pool is used and given back.
 */
int score_text(struct engine *e, const token_id *ids, size_t n, size_t first,
               void (*f)(void *user, size_t i, const float *logits), void *user,
               const struct progress *p);

#endif
