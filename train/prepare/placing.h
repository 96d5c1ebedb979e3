#ifndef PRATTLE_TRAIN_PREPARE_PLACING_H
#define PRATTLE_TRAIN_PREPARE_PLACING_H
/*
 * A note in the folder of a preparation or conversion of the files that are about to take their
 * places: those that a kill leaves there are part of a set that is not whole, and the same command
 * may replace them.
 */
#include "train/prepare/output.h"

#include <stddef.h>

/* The note's name in the folder. */
extern const char placing_name[];

/* Note the n open files, of the command that key stands for. ERR_IO, ERR_NOMEM. */
int placing_write(const char *folder, const char *key, const int *fds, size_t n);
/* Delete those files of an output of a path that are named by the folder's note, if the note is of
 * the same command. Without a note, with one that is not readable, or while a process works there,
 * they stay. ERR_IO, ERR_NOMEM. */
int placing_take_back(const char *folder, const char *key, enum output_format f, const char *path);

/* The folder beside OUT for this work, as "preparing", in fresh memory; hidden, so that it is no
 * part of IN where OUT lies in it. NULL: ERR_NOMEM. */
char *placing_folder(const char *out, const char *work);
/* For work that has nothing else there: make the folder, and its lock, which *lock is until
 * placing_end deletes all of it. ERR_EXISTS: another process has the lock; ERR_IO, ERR_NOMEM. */
int placing_begin(int *lock, const char *folder);
void placing_end(int lock, const char *folder);

#endif
