#ifndef PRATTLE_TRAIN_DATA_UNPACKED_H
#define PRATTLE_TRAIN_DATA_UNPACKED_H
/* Files that are read at any place, of those that come compressed (text_stream.h). */
#include "model/base/file.h"
#include "model/base/progress.h"

/*
 * If the file is compressed, replace it by what it unpacks to, in a file of the folder that has no
 * name; f's path stays. ERR_FORMAT: it is damaged, or an archive of none or several files.
 */
int unpacked_replace(struct file *f, const char *folder, const struct progress *p);

#endif
