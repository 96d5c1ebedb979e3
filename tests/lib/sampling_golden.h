#ifndef PRATTLE_TESTS_SAMPLING_GOLDEN_H
#define PRATTLE_TESTS_SAMPLING_GOLDEN_H
/* The cases of tests/golden/sampling.json, which sampling_reference.py made. */
#include "sampling/chain/sampler.h"
#include "tests/lib/test.h"
#include <jansson.h>
#include <math.h>

struct golden {
    json_t *root;
    token_id *text;
    size_t n_text;
    int n_new;
};

void golden_open(struct golden *g);
void golden_close(struct golden *g);

/* The logits of this name; their number. */
int golden_logits(const struct golden *g, const char *name, float **out);

/* Everything off but what the case sets. Its strings are borrowed. */
void golden_config(struct sampler_config *c, json_t *entry);

/* Run all cases whose chain has one of these stages alone (or, with NULL, several). */
void golden_run(const char *const *stages);

#endif
