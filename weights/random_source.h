#ifndef PRATTLE_WEIGHTS_RANDOM_SOURCE_H
#define PRATTLE_WEIGHTS_RANDOM_SOURCE_H
/* A random initialisation (model/random.h) as a source. */
#include "weights/tensors/source.h"

/* How the size of the vocabulary stands to a tokenizer that is borrowed. */
enum random_vocab_rule { RANDOM_VOCAB_FOLLOWS, RANDOM_VOCAB_PADDED, RANDOM_VOCAB_GIVEN };

/* What stands behind "random:": a preset or a config.json, sizes in place of its own, a seed. */
struct random_name {
    struct config config;
    uint64_t seed;
    enum random_vocab_rule vocab;
    const char *tokenizer; /* whose vocabulary it borrows, a path in text; NULL: made up */
    char *name;            /* "random:gpt2@42": what the model is called, to be made again */
    char *text;            /* owned */
};

/* seed: where the name has none. On failure there is nothing to release. */
int random_name_read(struct random_name *r, const char *name, uint64_t seed);
void random_name_release(struct random_name *r);

/* tokenizer: the one that r borrows, the source's from then on; NULL: a made-up one. */
int source_open_random(struct source *s, struct random_name *r, struct tokenizer *tokenizer);

#endif
