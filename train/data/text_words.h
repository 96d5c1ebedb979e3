#ifndef PRATTLE_TRAIN_DATA_TEXT_WORDS_H
#define PRATTLE_TRAIN_DATA_TEXT_WORDS_H
/*
 * The words of text files, for learning a vocabulary.
 */
#include "model/base/progress.h"
#include "model/tokenizer/bpe_words.h"

/*
 * Count the words of text and JSON lines, in the files and folders that data_sources_find
 * knows `paths` by. <|endoftext|> and the end of a file or JSON text end a text; it is
 * read in chunks: memory goes with the different words alone. ERR_FORMAT for tokens.
 */
int text_words_read(struct bpe_words *w, const char *paths, const struct progress *p);

#endif
