#ifndef PRATTLE_TRAIN_PREPARE_EXTRACTED_H
#define PRATTLE_TRAIN_PREPARE_EXTRACTED_H
/*
 * The documents of WikiExtractor's files: a line `<doc id=... title=...>`, the title, an empty
 * line, the text, and a line `</doc>`. What stands between documents is left out.
 */
#include "train/data/text_reader.h"

extern const struct text_splitter extracted_splitter;

/* Whether n bytes begin such a file. */
bool extracted_is(const char *head, size_t n);

#endif
