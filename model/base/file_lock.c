#include "model/base/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_lock_counts(int fd, const char *path)
{
    struct stat own, there;
    return fstat(fd, &own) != 0 ||
           (stat(path, &there) == 0 && own.st_ino == there.st_ino && own.st_dev == there.st_dev);
}

int file_lock_take(const char *path, mode_t mode)
{
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    for (;;) {
        const int fd = open(path, flags, mode);
        if (fd < 0)
            return -1;
        const int failed = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
        if (failed == 0 && file_lock_counts(fd, path))
            return fd;
        close(fd);
        if (failed != 0 && failed != EINTR) {
            errno = failed;
            return -1;
        }
    }
}
