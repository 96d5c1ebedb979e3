#ifndef PRATTLE_TRAIN_DATA_TEXT_WHOLE_H
#define PRATTLE_TRAIN_DATA_TEXT_WHOLE_H
/*
 * The one text of a file in memory: unpacked, and UTF-8 where a byte order mark says that it was
 * UTF-16; the mark is no text. All other bytes are as they are, UTF-8 or not.
 */
#include "model/base/buf.h"

#include <stdint.h>

/* Append the text to out, which is empty. ERR_MISSING, ERR_IO, ERR_FORMAT: no file, damaged, an
 * archive of several texts or none; ERR_RANGE: more than max bytes. */
int text_whole_read(struct buf *out, const char *path, uint64_t max);

#endif
