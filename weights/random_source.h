#ifndef PRATTLE_WEIGHTS_RANDOM_SOURCE_H
#define PRATTLE_WEIGHTS_RANDOM_SOURCE_H
/* A random initialisation (model/random.h) as a source. */
#include "weights/tensors/source.h"

/* Where the size of the vocabulary comes from if a tokenizer is borrowed: the tokenizer (FOLLOWS,
 * and PADDED unless the size exceeds it by less than 128), or the name (GIVEN). */
enum random_vocab_rule { RANDOM_VOCAB_FOLLOWS, RANDOM_VOCAB_PADDED, RANDOM_VOCAB_GIVEN };

/* What follows "random:": a preset or a config.json, other sizes, a seed (weights/open.h). */
struct random_name {
    struct config config;
    uint64_t seed;
    enum random_vocab_rule vocab;
    const char
        *tokenizer; /* the path of the tokenizer to borrow, in text; NULL: none, made-up tokens */
    char *name;     /* "random:gpt2@42", which gives the same weights again; owned */
    char *text;     /* owned */
};

/* seed: for a name without one. ERR_RANGE, ERR_MISSING name what is wrong; then there is nothing to
 * release. */
int random_name_read(struct random_name *r, const char *name, uint64_t seed);
void random_name_release(struct random_name *r);

/* tokenizer: the one that r borrows, which s takes over; NULL: a made-up one. */
int source_open_random(struct source *s, struct random_name *r, struct tokenizer *tokenizer);

#endif
