#ifndef PRATTLE_MODEL_BASE_SETTINGS_WORDS_H
#define PRATTLE_MODEL_BASE_SETTINGS_WORDS_H
/*
 * Settings as words of a command line, set in a layer of a store; the source of a value is its
 * word.
 */
#include "model/base/settings_store.h"

/*
 * Set the options among words [*n]: "--top-k 40", "--top_k=40", "--no-echo", "-p TEXT". The other
 * words are moved to the front, and *n becomes their number; "--" ends the options. Fails as
 * settings_table_lookup and settings_table_parse.
 */
int settings_take_options(struct settings_store *s, void *values, int layer, char **words, int *n);

/* The length of KEY if the word is KEY=VALUE; else 0. */
size_t settings_pair_key(const char *word);
/* Set the setting of a word KEY=VALUE. */
int settings_take_pair(struct settings_store *s, void *values, int layer, const char *word);

#endif
