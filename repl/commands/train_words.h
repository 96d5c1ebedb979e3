#ifndef PRATTLE_REPL_COMMANDS_TRAIN_WORDS_H
#define PRATTLE_REPL_COMMANDS_TRAIN_WORDS_H
/* The words behind :train, as people type them. */
#include "train/config/run_config.h"

/* As run_config_words and run_config_check_preset_files; the sentence also tells a text from a file
 * of settings, and a setting that was written with spaces around its "=". A file that a preset
 * hides is named. A random model without a tokenizer has the characters of the data, where these
 * are known (characters.h). */
int train_words(struct run_config *c, char *const *words, int n);
/* The same of words that change a run: without what only a new one needs. */
int train_change_words(struct run_config *c, char *const *words, int n);
/* Name a list that a word sets and a later word sets again. */
void train_note_repeated(char *const *words, int n);
/* A new model of n_vocab tokens that is trained on texts without a tokenizer of its own reads their
 * bytes: say so, where it has many more tokens than there are bytes. */
void train_note_bytes(const struct run_config *c, int n_vocab);
/* rc of options that n words of a command with those options of its own have (NULL: of none). Where
 * one is a setting of a run or of data, the sentence says how it is written, or that the command
 * takes none. */
int train_explain_options(int rc, const char *command, const char *options, char *const *words,
                          int n);
/* rc of a setting of the session that the command does not read: where it is train, and a run's is
 * called so, the sentence says how that is written. */
int train_explain_setting(int rc, const char *command, const char *name);

#endif
