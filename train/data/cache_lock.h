#ifndef PRATTLE_TRAIN_DATA_CACHE_LOCK_H
#define PRATTLE_TRAIN_DATA_CACHE_LOCK_H
/*
 * The right to make one set of the cache: a lock on PREFIX.lock (flock), which is there while
 * somebody has it.
 */
#include "model/base/progress.h"

struct cache_lock {
    int fd;
    char *path; /* owned; NULL: it is not held */
};
/* Take the lock, and wait for a process that has it. Where files cannot be locked nobody waits.
 * ERR_INTERRUPTED, ERR_IO, ERR_NOMEM. */
int cache_lock_open(struct cache_lock *l, const char *prefix, const struct progress *p);
void cache_lock_close(struct cache_lock *l); /* harmless for {-1} */
/* Delete the lock of this name that a killed process left; one that is held stays. */
void cache_lock_sweep(int folder, const char *name);

#endif
