#ifndef PRATTLE_TRAIN_PREPARE_MIN_HASH_H
#define PRATTLE_TRAIN_PREPARE_MIN_HASH_H
/*
 * A signature of a text's runs of five words, case and punctuation left out: the share of places
 * where those of two texts are equal is about the share of runs that the texts have in common
 * (Broder 1997). One hash a run is enough for all places (Li, Owen and Zhang, NIPS 2012); places
 * without a run take the next one that has one (Shrivastava and Li, ICML 2014).
 */
#include "model/base/ids.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MIN_HASH_PLACES = 64, MIN_HASH_BANDS = 16 };

struct min_hash {
    uint32_t least[MIN_HASH_PLACES]; /* UINT32_MAX: no run */
};
void min_hash_begin(struct min_hash *h);
/* Add the runs of a text, or of a part of one. */
void min_hash_add(struct min_hash *h, const char *text, size_t n);
/* The same of token IDs, each for a word. */
void min_hash_add_ids(struct min_hash *h, const token_id *ids, size_t n);
void min_hash_join(struct min_hash *h, const struct min_hash *next);
/* Fill the places without a run; false: there is none at all. */
bool min_hash_end(struct min_hash *h);
/* The share of equal places. */
double min_hash_likeness(const struct min_hash *a, const struct min_hash *b);
/* A key of band i: texts that are much alike have the same key in one band at least. Never 0. */
uint64_t min_hash_band(const struct min_hash *h, int i);

#endif
