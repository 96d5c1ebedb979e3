#ifndef PRATTLE_TRAIN_PREPARE_EXTRACTED_H
#define PRATTLE_TRAIN_PREPARE_EXTRACTED_H
/*
 * The documents of WikiExtractor's files: a line `<doc id=... title=...>`, the title, an empty
 * line, the text, and a line `</doc>`. What stands between documents is left out.
 *
 * Line breaks around a text are left out too: some are the file's, and no one can tell which. The
 * JSON form of the same pages (wiki_00 with an object a line) is JSON lines, whose texts stay as
 * they are to the last byte: where these end with line breaks, as those of pages without text do,
 * their documents have a token or two more.
 */
#include "train/data/text_reader.h"

extern const struct text_splitter extracted_splitter;

/* Whether n bytes begin such a file. */
bool extracted_is(const char *head, size_t n);

#endif
