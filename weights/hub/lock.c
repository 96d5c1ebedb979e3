#include "weights/hub/lock.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/folder_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <unistd.h>

static const double ASK_EVERY_S = 0.05, TELL_AFTER_S = 1;

int hub_lock_open(struct hub_lock *l, const char *path, const struct progress *p)
{
    const double begun = clock_s();
    bool told = false;
    /* Not through a link: the file's name comes from a server. */
    l->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0664);
    if (l->fd < 0)
        return file_error("lock", path);
    while (flock(l->fd, LOCK_EX | LOCK_NB) != 0) {
        /* Where files cannot be locked, the hash still decides what becomes a blob. */
        if (errno == ENOSYS || errno == EOPNOTSUPP || errno == ENOLCK)
            return 0;
        int rc = errno == EWOULDBLOCK || errno == EINTR
                     ? progress_step(p, "waiting for another download of this file", 0, 0)
                     : file_error("lock", path);
        if (rc != 0) {
            hub_lock_close(l);
            return rc;
        }
        if (!told && clock_s() - begun > TELL_AFTER_S) {
            progress_note(p, "another process downloads the same file; waiting for that");
            told = true;
        }
        clock_sleep_s(ASK_EVERY_S);
    }
    return 0;
}

void hub_lock_close(struct hub_lock *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

bool hub_lock_is_held(const char *folder)
{
    bool held = false;
    DIR *d = opendir(folder);
    for (const char *name; !held && (name = folder_entry_next(d)) != NULL;) {
        const int fd =
            openat(dirfd(d), name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (fd >= 0)
            close(fd);
    }
    folder_entry_close(d);
    return held;
}
