#ifndef PRATTLE_TESTS_TINY_H
#define PRATTLE_TESTS_TINY_H
/* Small models with weights out of a counter, for tests of what runs on a model. */
#include "model/base/mem.h"
#include "model/model.h"
#include "tests/lib/test.h"

/* These sizes; 0 begins and ends a text. */
struct config config_of(int n_layer, int n_head, int n_embd, int n_inner, int n_ctx, int n_vocab);
/* Head size 12, widths that fill no panel, positions over several pages. */
struct config tiny_config(void);
/* m is zeroed memory of the caller. */
void tiny_init(struct model *m, const struct config *c, enum dtype kind, uint64_t seed);
void tiny_release(struct model *m);

/* n ids of the vocabulary, others for another seed. */
void tiny_ids(token_id *ids, size_t n, const struct config *c, uint64_t seed);

#endif
