#ifndef PRATTLE_TRAIN_DATA_TEXT_CACHE_H
#define PRATTLE_TRAIN_DATA_TEXT_CACHE_H
/*
 * Texts as token ids, encoded once: a Megatron data set in $XDG_CACHE_HOME/prattle/data
 * (or ~/.cache), named by the SHA-256 of the texts' bytes, the separator and the tokenizer.
 */
#include "model/tokenizer/tokenizer.h"
#include "train/data/source.h"
#include "train/data/token_file.h"

/*
 * Open the set of n texts and JSON lines; if there is none, or it is damaged, encode them
 * by the whole team. Each document is closed by the end-of-text token, where the tokenizer
 * has one. ERR_RANGE: no text, or a byte that the tokenizer cannot say; ERR_FORMAT: a text has
 * changed while it was read; ERR_IO (the disk is full), ERR_INTERRUPTED: nothing is left
 * behind. What a killed process left there goes when it is a day old.
 */
int text_cache_open(struct token_file *out, const struct data_source *list, size_t n,
                    const char *separator, const struct tokenizer *t, const struct progress *p);

#endif
