#ifndef PRATTLE_TRAIN_DATA_UNPACKED_H
#define PRATTLE_TRAIN_DATA_UNPACKED_H
/* Files that are read at any place, of those that come compressed or in archives (text_stream.h).
 */
#include "train/data/text_stream.h"

/*
 * Call take with f, or, where f is compressed or an archive, with each file in it that `choose`
 * takes, in their order: unpacked into a file of the folder that has no name and goes when take
 * returns. The path of that one is what messages call it. choose: NULL takes all.
 * ERR_FORMAT: f is damaged, or has none to take; ERR_IO, ERR_INTERRUPTED; errors of both calls.
 */
int unpacked_each(const struct file *f, const char *folder,
                  int (*choose)(void *user, const struct text_stream *s, bool *take),
                  int (*take)(void *user, const struct file *f), void *user,
                  const struct progress *p);

#endif
