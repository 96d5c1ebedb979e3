#ifndef PRATTLE_TRAIN_DATA_TEXT_CACHE_H
#define PRATTLE_TRAIN_DATA_TEXT_CACHE_H
/*
 * Texts as token ids, encoded once: a Megatron data set in $XDG_CACHE_HOME/prattle/data
 * (or ~/.cache), named by the SHA-256 of the texts' bytes, how they are read and the tokenizer.
 */
#include "model/tokenizer/tokenizer.h"
#include "train/data/pairs.h"
#include "train/data/source.h"
#include "train/data/token_file.h"

/* How texts are read. Borrowed. */
struct text_form {
    const char *separator; /* as of text_reader.h, as are the next two */
    const char *field;
    const struct pairs *pairs;
    bool special; /* special tokens in texts are read as such */
};

/*
 * Open the cached set of n texts and JSON lines; if there is none, or it is damaged, encode the
 * texts with the whole thread team. Each document ends with the end-of-text token if the
 * tokenizer has one. ERR_RANGE: there is no
 * text, or a byte that the tokenizer cannot encode; ERR_FORMAT: a text changed while it was read;
 * ERR_IO (disk full), ERR_INTERRUPTED. After an error nothing stays in the cache; files that a
 * killed process left there are deleted after a day.
 */
int text_cache_open(struct token_file *out, const struct data_source *list, size_t n,
                    const struct text_form *form, const struct tokenizer *t,
                    const struct progress *p);

#endif
