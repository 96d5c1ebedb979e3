#include "train/prepare/spool.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLUSH_BYTES = 1 << 20, GAP_BYTES = 4096, NAME_BYTES = 200 };

int spool_open(struct spool *s, const char *path, uint64_t bytes)
{
    struct stat st;
    char shown[NAME_BYTES];
    *s = (struct spool){.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)};
    if (s->fd < 0)
        return file_error("write", path);
    s->path = mem_strdup(path);
    s->at = bytes;
    int rc = s->path == NULL ? ERR_NOMEM : fstat(s->fd, &st) != 0 ? file_error("read", path) : 0;
    if (rc == 0 && (uint64_t)st.st_size < bytes)
        rc = err_set(ERR_FORMAT, "%s has %llu bytes, expected %llu",
                     file_show(shown, sizeof shown, path), (unsigned long long)st.st_size,
                     (unsigned long long)bytes);
    if (rc == 0 && ftruncate(s->fd, (off_t)bytes) != 0)
        rc = file_error("write", path);
    if (rc != 0) {
        close(s->fd);
        mem_free(s->path);
        *s = (struct spool){.fd = -1};
    }
    return rc;
}

void spool_close(struct spool *s)
{
    if (s == NULL || s->path == NULL)
        return;
    close(s->fd);
    mem_free(s->path);
    buf_release(&s->pending);
    *s = (struct spool){.fd = -1};
}

int spool_flush(struct spool *s)
{
    const uint64_t from = s->at - s->pending.n;
    for (size_t done = 0; done < s->pending.n;) {
        ssize_t r =
            pwrite(s->fd, s->pending.data + done, s->pending.n - done, (off_t)(from + done));
        if (r < 0 && errno != EINTR)
            return file_error("write", s->path);
        done += r > 0 ? (size_t)r : 0;
    }
    s->pending.n = 0;
    return 0;
}

int spool_write(struct spool *s, const void *bytes, size_t n)
{
    int rc = buf_add(&s->pending, bytes, n);
    s->at += rc == 0 ? n : 0;
    return rc == 0 && s->pending.n >= FLUSH_BYTES ? spool_flush(s) : rc;
}

int spool_cut(struct spool *s, uint64_t bytes)
{
    const uint64_t written = s->at - s->pending.n;
    s->pending.n = bytes > written ? (size_t)(bytes - written) : 0;
    s->at = bytes;
    return bytes < written && ftruncate(s->fd, (off_t)bytes) != 0 ? file_error("write", s->path)
                                                                  : 0;
}

int spool_sync(struct spool *s)
{
    int rc = spool_flush(s);
    return rc == 0 && fsync(s->fd) != 0 ? file_error("write", s->path) : rc;
}

void spool_view_release(struct spool_view *v)
{
    mem_free(v->block);
    *v = (struct spool_view){0};
}

int spool_look(struct spool_view *v, const char **out, const struct spool *s, uint64_t offset,
               size_t n)
{
    const bool ahead = offset + GAP_BYTES > v->next && offset < v->next + GAP_BYTES;
    int rc = 0;
    v->next = offset + n;
    if (v->block == NULL && (v->block = mem_alloc(SPOOL_VIEW_BYTES)) == NULL)
        return ERR_NOMEM;
    if (offset < v->from || offset + n > v->from + v->n) {
        const uint64_t left = s->at > offset ? s->at - offset : 0;
        const size_t more = left < SPOOL_VIEW_BYTES ? (size_t)left : SPOOL_VIEW_BYTES;
        v->from = offset;
        v->n = ahead && more > n ? more : n;
        if ((rc = spool_read(s, v->block, offset, v->n)) != 0)
            v->n = 0;
    }
    *out = v->block + (offset - v->from);
    return rc;
}

int spool_read(const struct spool *s, void *dst, uint64_t offset, size_t n)
{
    const struct file f = {.fd = s->fd, .bytes = s->at, .path = s->path};
    return file_read_at(&f, dst, offset, n);
}
