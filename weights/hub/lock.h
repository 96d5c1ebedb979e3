#ifndef PRATTLE_WEIGHTS_HUB_LOCK_H
#define PRATTLE_WEIGHTS_HUB_LOCK_H
/* A lock between processes (flock), as Python's filelock takes it on the same file. */
#include "model/base/progress.h"

#include <stdbool.h>

struct hub_lock {
    int fd;
};
/* Make the file and wait for its lock; who waits for long is told so. ERR_INTERRUPTED, ERR_IO. */
int hub_lock_open(struct hub_lock *l, const char *path, const struct progress *p);
void hub_lock_close(struct hub_lock *l); /* also of {-1} */
/* Whether a process has one of the locks in a folder, which need not be there. */
bool hub_lock_is_held(const char *folder);

#endif
