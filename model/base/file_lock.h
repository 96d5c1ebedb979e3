#ifndef PRATTLE_MODEL_BASE_FILE_LOCK_H
#define PRATTLE_MODEL_BASE_FILE_LOCK_H
/* Lock files (flock) that are deleted by who has them. */
#include <stdbool.h>
#include <sys/types.h>

/* Whether fd is the file at path. Once it is deleted, a lock of it excludes nobody: another process
 * makes a new one. */
bool file_lock_counts(int fd, const char *path);
/*
 * Make the file at path, or open it, and lock it. The lock ends when the result is closed; who
 * deletes the file does so before that.
 *
 * returns  the open file; -1 with errno: EWOULDBLOCK: another process has the lock
 */
int file_lock_take(const char *path, mode_t mode);

#endif
