#ifndef PRATTLE_TRAIN_DATA_CHARACTERS_H
#define PRATTLE_TRAIN_DATA_CHARACTERS_H
/*
 * Token files of nanoGPT whose ids are the characters of a meta.pkl beside them
 * (data/shakespeare_char/prepare.py).
 */
#include "model/base/progress.h"
#include "model/tokenizer/tokenizer.h"
#include "train/data/token_file.h"

#include <stddef.h>

/* The meta.pkl of data, as in data_config.data, in fresh memory; NULL: its first source has no such
 * files, or they have none. ERR_NOMEM. */
int characters_find(char **meta, const char *data);

/* Note files [n] whose characters are not the tokens of t. ERR_NOMEM. */
int characters_note(const struct token_file *files, size_t n, const struct tokenizer *t,
                    const struct progress *p);

#endif
