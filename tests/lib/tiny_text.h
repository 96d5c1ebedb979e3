#ifndef PRATTLE_TESTS_TINY_TEXT_H
#define PRATTLE_TESTS_TINY_TEXT_H
/* A tiny model that speaks: tiny.h's weights behind a vocabulary of all bytes and a
 * few words. Id 0 ends a text; byte b is id b + 1; words come behind. */
#include "model/tokenizer/tokenizer.h"
#include "tests/lib/tiny.h"

enum { TINY_N_MERGES = 15, TINY_V = 1 + 256 + TINY_N_MERGES };

/* Without a space before the first word, and with one if asked for. */
struct tokenizer *tiny_tokenizer(void);
struct tokenizer *tiny_tokenizer_with(bool prefix_space);

/* n_ctx 150: the third page is not whole. */
void tiny_speaker(struct model *m, uint64_t seed);
void tiny_speaker_release(struct model *m);

#endif
