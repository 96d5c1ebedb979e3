#ifndef PRATTLE_TRAIN_DATA_TEXT_WORDS_H
#define PRATTLE_TRAIN_DATA_TEXT_WORDS_H
/*
 * The words of text files, to train a tokenizer on.
 */
#include "model/base/progress.h"
#include "model/tokenizer/bpe_words.h"

/*
 * Count the words of the texts and JSON lines that data_sources_find finds for `paths`. A text ends
 * at <|endoftext|> and at the end of a file or JSON text. Memory is proportional to the number of
 * different words. ERR_FORMAT: a file has tokens.
 */
int text_words_read(struct bpe_words *w, const char *paths, const struct progress *p);

#endif
