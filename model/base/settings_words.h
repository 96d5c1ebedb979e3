#ifndef PRATTLE_MODEL_BASE_SETTINGS_WORDS_H
#define PRATTLE_MODEL_BASE_SETTINGS_WORDS_H
/*
 * Settings as words of a command line, into a layer of a store; a value's source is its word.
 */
#include "model/base/settings_store.h"

/*
 * Take options out of words: "--top-k 40", "--top_k=40", "--no-echo", "-p TEXT". What
 * is left stands at the front, *n of them; "--" ends the options.
 */
int settings_take_options(struct settings_store *s, void *values, int layer, char **words, int *n);

/* The length of KEY in KEY=VALUE; 0: the word is none. */
size_t settings_pair_key(const char *word);
/* Take such a pair. */
int settings_take_pair(struct settings_store *s, void *values, int layer, const char *word);

#endif
