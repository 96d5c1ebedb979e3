#include "train/data/cache_lock.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file_lock.h"
#include "model/base/file_show.h"
#include "model/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLAGS = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };
static const double ASK_EVERY_S = 0.05;

static int wait_for_lock(const struct cache_lock *l, const struct progress *p)
{
    int rc = 0;
    while (rc == 0 && flock(l->fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == ENOSYS || errno == EOPNOTSUPP || errno == ENOLCK)
            return 0;
        rc = errno == EWOULDBLOCK || errno == EINTR
                 ? progress_step(p, "waiting for another process that encodes these texts", 0, 0)
                 : file_error("lock", l->path);
        clock_sleep_s(rc == 0 ? ASK_EVERY_S : 0);
    }
    return rc;
}

static void drop_lock(struct cache_lock *l)
{
    if (l->fd >= 0)
        close(l->fd);
    mem_free(l->path);
    *l = (struct cache_lock){-1, NULL};
}

int cache_lock_open(struct cache_lock *l, const char *prefix, const struct progress *p)
{
    *l = (struct cache_lock){-1, mem_sprintf("%s.lock", prefix)};
    int rc = l->path == NULL ? ERR_NOMEM : 0;
    do {
        if (l->fd >= 0)
            close(l->fd);
        if (rc == 0 && (l->fd = open(l->path, FLAGS | O_CREAT, 0666)) < 0)
            rc = file_error("lock", l->path);
        if (rc == 0)
            rc = wait_for_lock(l, p);
    } while (rc == 0 && !file_lock_counts(l->fd, l->path));
    if (rc != 0)
        drop_lock(l);
    return rc;
}

void cache_lock_close(struct cache_lock *l)
{
    if (l->path != NULL)
        unlink(l->path);
    drop_lock(l);
}

void cache_lock_sweep(int folder, const char *name)
{
    struct stat own, there;
    const int fd = openat(folder, name, FLAGS);
    /* Its holder may have deleted it meanwhile, and another made a new one of this name. */
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &own) == 0 &&
        fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && own.st_ino == there.st_ino &&
        own.st_dev == there.st_dev)
        unlinkat(folder, name, 0);
    if (fd >= 0)
        close(fd);
}
