#ifndef PRATTLE_TRAIN_PREPARE_PLACING_H
#define PRATTLE_TRAIN_PREPARE_PLACING_H
/*
 * A note in the folder of a preparation of the files that are about to take their places: those
 * that a kill leaves there are part of a set that is not whole, and the same command may replace
 * them.
 */
#include <stddef.h>

/* The note's name in the folder. */
extern const char placing_name[];

/* Note the n open files, of the command that key stands for. ERR_IO, ERR_NOMEM. */
int placing_write(const char *folder, const char *key, const int *fds, size_t n);
/* Delete the file of a path if it is one that the folder's note names, and the note is of the same
 * command. Without a note, with one that is not readable, or while a process works there, it stays.
 * ERR_IO, ERR_NOMEM. */
int placing_take_back(const char *folder, const char *key, const char *path);

#endif
