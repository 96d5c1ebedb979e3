#include "model/base/disk_file.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* The same file once more, past the page cache; -1: not here. */
static int open_direct(int fd, int access)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return open(link, access | O_DIRECT | O_CLOEXEC);
}

int disk_file_open(struct disk_file *f, const char *path)
{
    struct file file;
    *f = (struct disk_file){.fd = -1, .direct = -1};
    int rc = file_open(&file, path);
    if (rc != 0)
        return rc;
    *f = (struct disk_file){.fd = file.fd,
                            .direct = open_direct(file.fd, O_RDONLY),
                            .bytes = file.bytes,
                            .name = file.path};
    f->use_direct = f->direct >= 0;
    return 0;
}

/* As posix_fallocate, which writes where the file system cannot allocate. A limit on the size of
 * files is an error here, not SIGXFSZ. */
static int allocate(int fd, uint64_t bytes)
{
    sigset_t limit, before;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    const int failed = posix_fallocate(fd, 0, (off_t)bytes);
    if (failed == EFBIG && !sigismember(&before, SIGXFSZ))
        sigtimedwait(&limit, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

int disk_file_make(struct disk_file *f, const char *folder, uint64_t bytes)
{
    *f = (struct disk_file){.fd = -1, .direct = -1, .bytes = disk_round(bytes)};
    if ((f->name = mem_sprintf("a working file in %s", folder)) == NULL)
        return ERR_NOMEM;
    int rc = 0, failed = 0;
    if ((f->fd = file_open_nameless(folder)) < 0)
        rc = file_fails("make", f->name);
    else if (f->bytes > 0 && (failed = allocate(f->fd, f->bytes)) != 0) {
        errno = failed;
        const bool many = f->bytes >= 1000000000;
        rc = err_errno("no room for %.1f %s in %s", (double)f->bytes / (many ? 1e9 : 1e6),
                       many ? "GB" : "MB", file_quote(folder));
    }
    if (rc != 0) {
        disk_file_close(f);
        return rc;
    }
    f->direct = open_direct(f->fd, O_RDWR);
    f->use_direct = f->direct >= 0;
    return 0;
}

int disk_file_take(struct disk_file *f, int fd, const char *name, uint64_t bytes)
{
    *f = (struct disk_file){.fd = fd, .direct = -1, .bytes = bytes, .name = mem_strdup(name)};
    if (f->name == NULL) {
        close(fd);
        return ERR_NOMEM;
    }
    f->direct = open_direct(fd, O_RDWR);
    f->use_direct = f->direct >= 0;
    return 0;
}

void disk_file_close(struct disk_file *f)
{
    if (f == NULL || f->name == NULL)
        return;
    if (f->fd >= 0)
        close(f->fd);
    if (f->direct >= 0)
        close(f->direct);
    mem_free(f->name);
    *f = (struct disk_file){.fd = -1, .direct = -1};
}

static int refuse_short(const struct disk_file *f, uint64_t at, uint64_t wanted)
{
    return err_set(ERR_FORMAT, "%s ends at byte %llu, expected %llu: the file is truncated",
                   file_quote(f->name), (unsigned long long)at, (unsigned long long)wanted);
}

/* Descriptors that refuse O_DIRECT only at the transfer (EINVAL) are read through the cache. */
static bool may_retry(const struct disk_file *f, int *fd)
{
    if (errno == EINTR)
        return true;
    if (errno != EINVAL || *fd != f->direct)
        return false;
    *fd = f->fd;
    return true;
}

int disk_file_read(const struct disk_file *f, char *to, uint64_t at, size_t n)
{
    int fd = f->use_direct ? f->direct : f->fd;
    for (size_t got = 0; got < n;) {
        /* A direct read that stopped within a unit cannot go on from there. */
        if (got % DISK_UNIT != 0)
            fd = f->fd;
        const size_t left = fd == f->direct ? (size_t)disk_round(n - got) : n - got;
        ssize_t r = pread(fd, to + got, left, (off_t)(at + got));
        if (r < 0 && may_retry(f, &fd))
            continue;
        if (r < 0)
            return file_fails("read", f->name);
        if (r == 0)
            return refuse_short(f, at + got, at + n);
        got += (size_t)r;
    }
    return 0;
}

int disk_file_write(const struct disk_file *f, const char *from, uint64_t at, size_t n)
{
    int fd = f->use_direct && n % DISK_UNIT == 0 ? f->direct : f->fd;
    for (size_t done = 0; done < n;) {
        if (done % DISK_UNIT != 0)
            fd = f->fd;
        ssize_t r = pwrite(fd, from + done, n - done, (off_t)(at + done));
        if (r < 0 && may_retry(f, &fd))
            continue;
        if (r == 0)
            errno = ENOSPC;
        if (r <= 0)
            return file_fails("write", f->name);
        done += (size_t)r;
    }
    return 0;
}
