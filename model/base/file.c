#include "model/base/file.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLUSH_BYTES = 1 << 20, COMPARE_BYTES = 1 << 18 };

static const char *kind_name(mode_t mode)
{
    return S_ISDIR(mode)    ? "is a folder, not a file"
           : S_ISFIFO(mode) ? "is a pipe, not a regular file"
           : S_ISCHR(mode)  ? "is a device, not a regular file"
                            : "is not a regular file";
}

static uint64_t file_stamp(const struct stat *st)
{
    const uint64_t parts[] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino, (uint64_t)st->st_size,
                              (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec};
    uint64_t stamp = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        stamp = (stamp ^ parts[i]) * 0x9e3779b97f4a7c15u;
        stamp ^= stamp >> 29;
    }
    return stamp | 1;
}

int file_open(struct file *f, const char *path)
{
    *f = (struct file){.fd = -1};
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return file_error("open", path);
    struct stat st;
    int rc = 0;
    if (fstat(fd, &st) != 0)
        rc = file_error("look at", path);
    else if (!S_ISREG(st.st_mode))
        rc = file_refuse(ERR_FORMAT, path, kind_name(st.st_mode));
    if (rc == 0 && (f->path = mem_strdup(path)) == NULL)
        rc = ERR_NOMEM;
    if (rc != 0) {
        close(fd);
        return rc;
    }
    f->fd = fd;
    f->bytes = (uint64_t)st.st_size;
    f->stamp = file_stamp(&st);
    return 0;
}

int file_open_input(int *fd, const char *path)
{
    struct stat st;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (*fd < 0)
        return errno == EINTR && interrupt_pending() ? err_set(ERR_INTERRUPTED, "interrupted")
                                                     : file_error("open", path);
    int rc = 0;
    if (fstat(*fd, &st) != 0)
        rc = file_error("look at", path);
    else if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
        rc = file_refuse(ERR_FORMAT, path, kind_name(st.st_mode));
    if (rc != 0) {
        close(*fd);
        *fd = -1;
    }
    return rc;
}

void file_close(struct file *f)
{
    if (f == NULL || f->path == NULL)
        return;
    close(f->fd);
    mem_free(f->path);
    *f = (struct file){.fd = -1};
}

int file_read_at(const struct file *f, void *dst, uint64_t offset, size_t n)
{
    char *to = dst;
    for (size_t got = 0; got < n;) {
        ssize_t r = pread(f->fd, to + got, n - got, (off_t)(offset + got));
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return file_error("read", f->path);
        if (r == 0) {
            char *shown = file_visible(f->path);
            err_set(ERR_FORMAT, "%s ends at byte %llu, expected %llu: the file is truncated",
                    shown == NULL ? "file" : shown, (unsigned long long)(offset + got),
                    (unsigned long long)(offset + n));
            mem_free(shown);
            return ERR_FORMAT;
        }
        got += (size_t)r;
    }
    return 0;
}

int file_compare(bool *same, const struct file *a, uint64_t at_a, const struct file *b,
                 uint64_t at_b, uint64_t n)
{
    char *x = mem_alloc(COMPARE_BYTES), *y = mem_alloc(COMPARE_BYTES);
    int rc = x == NULL || y == NULL ? ERR_NOMEM : 0;
    *same = true;
    for (uint64_t at = 0; at < n && *same && rc == 0; at += COMPARE_BYTES) {
        size_t part = n - at < COMPARE_BYTES ? (size_t)(n - at) : COMPARE_BYTES;
        if ((rc = file_read_at(a, x, at_a + at, part)) == 0 &&
            (rc = file_read_at(b, y, at_b + at, part)) == 0)
            *same = memcmp(x, y, part) == 0;
    }
    mem_free(x);
    mem_free(y);
    return rc;
}

int file_read_whole(struct buf *out, const struct file *f, uint64_t max)
{
    size_t before = out->n;
    int rc;
    if (f->bytes > max) {
        char *shown = file_visible(f->path);
        rc = err_set(ERR_RANGE, "%s has %llu bytes, at most %llu are read",
                     shown == NULL ? "file" : shown, (unsigned long long)f->bytes,
                     (unsigned long long)max);
        mem_free(shown);
    } else if ((rc = buf_reserve(out, (size_t)f->bytes)) == 0 &&
               (rc = file_read_at(f, out->data + before, 0, (size_t)f->bytes)) == 0) {
        out->n = before + (size_t)f->bytes;
    }
    if (out->data != NULL)
        out->data[out->n] = '\0';
    return rc;
}

int file_read_all(struct buf *out, const char *path, uint64_t max)
{
    struct file f;
    int rc = file_open(&f, path);
    if (rc != 0)
        return rc;
    rc = file_read_whole(out, &f, max);
    file_close(&f);
    return rc;
}

int file_wait(int fd)
{
    sigset_t held, before;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &held, &before);
    int ready = 0;
    while (!interrupt_pending() && ready == 0)
        /* ppoll unblocks the signals only while it waits, so none is lost between the test of the
         * flag and the wait. A descriptor that poll refuses is left to read. */
        ready = ppoll(&p, 1, NULL, &before) < 0 && errno == EINTR ? 0 : 1;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ready ? 0 : err_set(ERR_INTERRUPTED, "interrupted");
}

int file_read_fd(struct buf *out, int fd)
{
    for (;;) {
        int rc = file_wait(fd);
        if (rc == 0)
            rc = buf_reserve(out, FLUSH_BYTES);
        if (rc != 0)
            return rc;
        ssize_t r = read(fd, out->data + out->n, FLUSH_BYTES);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return err_errno("cannot read what was piped in");
        out->n += (size_t)r;
        out->data[out->n] = '\0';
        if (r == 0)
            return 0;
    }
}

/* A pipe or a device takes bytes as they come: it has no contents to keep until the last. */
static int open_stream(struct file_writer *w)
{
    w->fd = open(w->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (w->fd >= 0)
        return 0;
    return errno == EINTR && interrupt_pending() ? err_set(ERR_INTERRUPTED, "interrupted")
                                                 : file_error("write", w->path);
}

/* The longest names have no room for an ending of their own. */
static char *short_temporary(const char *path)
{
    const char *slash = strrchr(path, '/');
    return mem_sprintf("%.*s.prattle-XXXXXX.tmp", slash == NULL ? 0 : (int)(slash + 1 - path),
                       path);
}

static int open_temporary(struct file_writer *w)
{
    for (int shorter = 0; shorter < 2; shorter++) {
        w->temp = shorter ? short_temporary(w->path) : mem_sprintf("%s.XXXXXX.tmp", w->path);
        if (w->temp == NULL)
            return ERR_NOMEM;
        w->fd = mkostemps(w->temp, 4, O_CLOEXEC);
        if (w->fd >= 0)
            return 0;
        const int why = errno;
        mem_free(w->temp);
        w->temp = NULL;
        errno = why;
        if (why != ENAMETOOLONG)
            break;
    }
    return file_error("write", w->path);
}

int file_create(struct file_writer *w, const char *path, bool force)
{
    struct stat st;
    char real[PATH_MAX];
    *w = (struct file_writer){.fd = -1, .force = force};
    const bool there = stat(path, &st) == 0,
               stream = there && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
    if (there && !stream && !S_ISREG(st.st_mode))
        return file_refuse(ERR_EXISTS, path, kind_name(st.st_mode));
    if (!stream && !force && file_exists(path))
        return file_refuse(ERR_EXISTS, path, "exists already; --force overwrites it");
    if ((w->replaces = there && !stream)) {
        w->mode = st.st_mode & 0777;
        w->owner = st.st_uid;
        w->group = st.st_gid;
    }
    /* What a link leads to is replaced, not the link. */
    w->path = mem_strdup(there && !stream && realpath(path, real) != NULL ? real : path);
    int rc = w->path == NULL ? ERR_NOMEM : stream ? open_stream(w) : open_temporary(w);
    if (rc != 0)
        file_abandon(w);
    return rc;
}

static int flush_writer(struct file_writer *w)
{
    for (size_t done = 0; done < w->pending.n;) {
        ssize_t r = write(w->fd, w->pending.data + done, w->pending.n - done);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return file_error("write", w->path);
        done += (size_t)r;
    }
    w->pending.n = 0;
    return 0;
}

int file_write(struct file_writer *w, const void *bytes, size_t n)
{
    const char *from = bytes;
    while (n > 0) {
        size_t room = FLUSH_BYTES - w->pending.n, part = n < room ? n : room;
        int rc = buf_add(&w->pending, from, part);
        if (rc == 0 && (w->temp == NULL || w->pending.n == FLUSH_BYTES))
            rc = flush_writer(w);
        if (rc != 0)
            return rc;
        w->at += part;
        from += part;
        n -= part;
    }
    return 0;
}

int file_patch(struct file_writer *w, uint64_t offset, const void *bytes, size_t n)
{
    int rc = flush_writer(w);
    for (size_t done = 0; done < n && rc == 0;) {
        ssize_t r = pwrite(w->fd, (const char *)bytes + done, n - done, (off_t)(offset + done));
        if (r < 0 && errno != EINTR)
            rc = file_error("write", w->path);
        done += r > 0 ? (size_t)r : 0;
    }
    return rc;
}

int file_reread(struct file_writer *w, void *dst, uint64_t offset, size_t n)
{
    int rc = flush_writer(w);
    const struct file written = {.fd = w->fd, .bytes = w->at, .path = w->path};
    return rc != 0 ? rc : file_read_at(&written, dst, offset, n);
}

int file_sync_parent(const char *path)
{
    /* Without allocation: after the rename only the system may fail. */
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return file_error("open the folder of", path);
    /* Some file systems cannot sync a folder, and rename without it. */
    int rc = fsync(fd) != 0 && errno != EINVAL ? file_error("sync", path) : 0;
    close(fd);
    return rc;
}

int file_set_permissions(int fd, const char *path, mode_t mode, uid_t owner, gid_t group)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && (st.st_uid != owner || st.st_gid != group) &&
        fchown(fd, owner, group) != 0 && st.st_gid != group && fchown(fd, (uid_t)-1, group) != 0)
        mode = (mode & 0707) | (mode & 07) << 3;
    return fchmod(fd, mode) == 0 ? 0 : file_error("write", path);
}

/* Those of the file that is replaced, or of any new one. */
static int set_permissions(const struct file_writer *w)
{
    mode_t mask = umask(0);
    umask(mask);
    if (w->replaces)
        return file_set_permissions(w->fd, w->path, w->mode, w->owner, w->group);
    return fchmod(w->fd, 0666 & ~mask) == 0 ? 0 : file_error("write", w->path);
}

int file_divert(struct file_writer *w, const char *ending)
{
    const char *slash = strrchr(w->path, '/');
    const int folder = slash == NULL ? 0 : (int)(slash + 1 - w->path);
    char *path = mem_sprintf("%.*s%.*s%s", folder, w->path, NAME_MAX - (int)strlen(ending),
                             w->path + folder, ending);
    if (path == NULL)
        return ERR_NOMEM;
    const bool taken = file_exists(path);
    if (!taken) {
        mem_free(w->path);
        w->path = path;
        w->force = false;
        return 0;
    }
    const int rc = file_refuse(ERR_EXISTS, path, "exists already");
    mem_free(path);
    return rc;
}

int file_commit(struct file_writer *w)
{
    int rc = flush_writer(w);
    if (rc != 0)
        return rc;
    if (w->temp == NULL) {
        file_abandon(w);
        return 0;
    }
    if ((rc = set_permissions(w)) != 0)
        return rc;
    if (fsync(w->fd) != 0)
        return file_error("write", w->path);
    /* Without force: link, unlike rename, fails if path exists by now. */
    if (!w->force && link(w->temp, w->path) == 0) {
        unlink(w->temp);
    } else if (!w->force && errno == EEXIST) {
        return file_refuse(ERR_EXISTS, w->path, "exists already; --force overwrites it");
    } else if (rename(w->temp, w->path) != 0) {
        return file_error("write", w->path);
    }
    mem_free(w->temp);
    w->temp = NULL;
    rc = file_sync_parent(w->path);
    file_abandon(w);
    return rc;
}

int file_write_whole(const char *path, const void *bytes, size_t n, bool force)
{
    struct file_writer w;
    int rc = file_create(&w, path, force);
    if (rc == 0 && (rc = file_write(&w, bytes, n)) == 0)
        rc = file_commit(&w);
    file_abandon(&w);
    return rc;
}

void file_abandon(struct file_writer *w)
{
    if (w == NULL)
        return;
    if (w->path != NULL && w->fd >= 0)
        close(w->fd);
    if (w->temp != NULL && w->fd >= 0)
        unlink(w->temp);
    mem_free(w->path);
    mem_free(w->temp);
    buf_release(&w->pending);
    *w = (struct file_writer){.fd = -1};
}

int file_open_nameless(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return fd;
    /* Where the file system has none such, as over NFS: one whose name is deleted. */
    char *path = mem_sprintf("%s/.nameless-XXXXXX", folder);
    if (path == NULL) {
        errno = ENOMEM;
        return -1;
    }
    if ((fd = mkostemp(path, O_CLOEXEC)) >= 0)
        unlink(path);
    const int why = errno;
    mem_free(path);
    errno = why;
    return fd;
}

int file_write_fd(int fd, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t r = write(fd, (const char *)bytes + done, n - done);
        if (r < 0 && errno != EINTR)
            return err_errno("cannot write a temporary file");
        done += r > 0 ? (size_t)r : 0;
    }
    return 0;
}

static int open_append(int *fd, const char *path, int create)
{
    struct stat st;
    *fd = open(path, O_WRONLY | O_APPEND | create | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (*fd < 0)
        return errno == EISDIR ? file_refuse(ERR_FORMAT, path, kind_name(S_IFDIR))
                               : file_error("write", path);
    int rc = fstat(*fd, &st) != 0   ? file_error("look at", path)
             : !S_ISREG(st.st_mode) ? file_refuse(ERR_FORMAT, path, kind_name(st.st_mode))
                                    : 0;
    if (rc != 0)
        close(*fd);
    return rc;
}

int file_check_append(const char *path)
{
    char copy[PATH_MAX];
    int fd;
    const size_t n = strlen(path);
    if (n > 0 && path[n - 1] == '/')
        return file_refuse(ERR_FORMAT, path, kind_name(S_IFDIR));
    if (file_exists(path)) {
        int rc = open_append(&fd, path, 0);
        if (rc == 0)
            close(fd);
        return rc;
    }
    snprintf(copy, sizeof copy, "%s", path);
    return access(dirname(copy), W_OK | X_OK) == 0 ? 0 : file_error("write", path);
}

int file_append(const char *path, const void *bytes, size_t n)
{
    struct stat st = {0};
    int fd, rc = open_append(&fd, path, O_CREAT);
    if (rc != 0)
        return rc;
    if (fstat(fd, &st) != 0)
        rc = file_error("look at", path);
    size_t done = 0;
    while (done < n && rc == 0) {
        ssize_t w = write(fd, (const char *)bytes + done, n - done);
        if (w < 0 && errno != EINTR)
            rc = file_error("write", path);
        done += w > 0 ? (size_t)w : 0;
    }
    /* On a full disk: remove a partial line, unless another process has appended after it. */
    const off_t begun = st.st_size;
    if (rc != 0 && done > 0 && fstat(fd, &st) == 0 && st.st_size == begun + (off_t)done &&
        ftruncate(fd, begun) != 0)
        errno = 0;
    if (close(fd) != 0 && rc == 0)
        rc = file_error("write", path);
    return rc;
}
