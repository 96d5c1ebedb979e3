#include "weights/hub/transfer.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/hub/digest.h"
#include "weights/hub/url.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { MOST_UNSIZED = 100000000 }; /* no text or JSON of a model is so large; weights have a size */

/* A download under way. */
struct part {
    const struct hub_transfer *t;
    const struct progress *progress;
    char *path; /* of the part */
    int fd;
    int64_t at, bytes;         /* written; of the whole, -1: not known */
    int64_t furthest;          /* written at any time since the beginning */
    bool joined;               /* of more than one answer */
    char etag[HUB_ETAG_BYTES]; /* of the answers so far; "": none yet */
};

int hub_need_space(const char *path, uint64_t bytes)
{
    struct statvfs v;
    char shown[160];
    if (statvfs(path, &v) != 0 || v.f_bsize == 0)
        return 0; /* writing will tell */
    const uint64_t unit = v.f_frsize != 0 ? v.f_frsize : v.f_bsize;
    if (v.f_bavail >= bytes / unit + 1)
        return 0;
    return err_set(ERR_IO, "%s has %.0f MB free, the download needs %.0f MB",
                   file_show(shown, sizeof shown, path), (double)(v.f_bavail * unit) / 1e6,
                   (double)bytes / 1e6 + 1);
}

static int drop_part(struct part *d)
{
    d->at = 0;
    d->etag[0] = '\0';
    return ftruncate(d->fd, 0) == 0 ? 0 : file_error("write", d->path);
}

/* Not through a link, nor into a pipe: the part's name comes from a server. */
static int open_part(struct part *d)
{
    struct stat st;
    d->fd = open(d->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    if (d->fd < 0)
        return file_error("write", d->path);
    if (fstat(d->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return err_set(ERR_FORMAT, "%s is not a regular file", file_quote(d->path));
    d->at = st.st_size;
    return d->bytes >= 0 && d->at > d->bytes ? drop_part(d) : 0;
}

/* Whether an answer goes on with the file that the part is of, as far as that can be told now. */
static bool etag_fits(const struct part *d, const struct answer_head *a)
{
    if (d->etag[0] != '\0')
        return strcmp(d->etag, a->etag) == 0;
    /* A part of another day: of a hash, the end will tell. */
    return hub_digest_is_hash(d->t->digest) ||
           (d->t->digest[0] != '\0' && strcmp(d->t->digest, answer_head_etag(a)) == 0);
}

static int begin_body(void *user, const struct answer_head *a)
{
    struct part *d = user;
    const int64_t whole = a->status == 206 ? a->of : a->bytes;
    if (a->encoded)
        return err_set(ERR_MISMATCH, "the server sends the file compressed");
    if (a->status == 206 && !etag_fits(d, a))
        return err_set(ERR_MISMATCH, "the file on the server is not that of the part");
    if (d->bytes >= 0 && whole >= 0 && whole != d->bytes)
        return err_set(ERR_MISMATCH,
                       "the server sends a file of %" PRId64 " bytes, expected %" PRId64, whole,
                       d->bytes);
    if (a->status == 206 && a->from != d->at)
        return err_set(ERR_MISMATCH, "the server sends from byte %" PRId64 " on, expected %" PRId64,
                       a->from, d->at);
    if (a->status == 200 && d->at > 0 && drop_part(d) != 0)
        return err_last();
    snprintf(d->etag, sizeof d->etag, "%s", a->etag);
    if (d->bytes < 0)
        d->bytes = whole;
    if (lseek(d->fd, d->at, SEEK_SET) < 0)
        return file_error("write", d->path);
    return d->bytes > d->at ? hub_need_space(d->path, (uint64_t)(d->bytes - d->at)) : 0;
}

static int report_part(const struct part *d)
{
    const struct hub_transfer *t = d->t;
    const uint64_t total = t->total > 0 ? t->total : d->bytes > 0 ? (uint64_t)d->bytes : 0;
    return progress_step(d->progress, PROGRESS_DOWNLOADING, t->done + (uint64_t)d->at, total);
}

static int add_body(void *user, const void *bytes, size_t n)
{
    struct part *d = user;
    if (d->bytes >= 0 && (uint64_t)(d->bytes - d->at) < n)
        return err_set(ERR_MISMATCH, "the server sends more bytes than the file has");
    if (d->bytes < 0 && d->at > MOST_UNSIZED)
        return err_set(ERR_MISMATCH,
                       "the server does not say how many bytes the file has, and sends more than "
                       "%d MB",
                       MOST_UNSIZED / 1000000);
    for (size_t done = 0; done < n;) {
        const ssize_t w = write(d->fd, (const char *)bytes + done, n - done);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return file_error("write", d->path);
        done += (size_t)w;
        d->at += w;
    }
    return report_part(d);
}

static int refuse_status(const struct part *d, const struct hub_reply *r)
{
    char shown[160];
    const int status = r->head.status;
    return err_set(status == 404 || status == 401 || status == 403 || status == 410 ? ERR_MISSING
                                                                                    : ERR_IO,
                   "%s: HTTP %d", file_show(shown, sizeof shown, d->t->url), status);
}

/* An answer that is no body. */
static int refuse_reply(struct part *d, const struct hub_reply *r)
{
    if (r->head.status != 416 || d->at == 0)
        return refuse_status(d, r);
    if (d->bytes < 0 && r->head.of == d->at)
        return 0; /* there is no more */
    return err_set(ERR_MISMATCH, "the server does not have the bytes that are missing");
}

/* What is missing, by one request. *again: another may bring more; after that many seconds, or -1.
 */
static int request_rest(struct part *d, struct hub_session *s, bool *again, double *asked_s)
{
    struct hub_reply r;
    struct http_request q = {.from = (uint64_t)d->at,
                             .if_etag = d->etag[0] != '\0' ? d->etag : NULL,
                             .begin = begin_body,
                             .add = add_body,
                             .user = d};
    d->joined |= d->at > 0;
    int rc = hub_session_send(s, &r, d->t->url, &q);
    *again = r.may_pass;
    *asked_s = r.head.retry_after_s;
    if (rc == 0 && r.head.status != 200 && r.head.status != 206) {
        rc = refuse_reply(d, &r);
    } else if (rc == 0 && d->bytes >= 0 && d->at < d->bytes) {
        *again = true;
        rc = err_set(ERR_IO, "the answer ended at %" PRId64 " of %" PRId64 " bytes", d->at,
                     d->bytes);
    }
    hub_reply_release(&r);
    return rc;
}

/* The whole part, whose bytes may come by many requests: as long as there are more than ever
 * before.
 */
static int fill_part(struct part *d, struct hub_session *s)
{
    bool again;
    double asked_s;
    int failed = 0;
    while (d->bytes < 0 || d->at < d->bytes) {
        int rc = request_rest(d, s, &again, &asked_s);
        if (rc == 0)
            break;
        failed = d->at > d->furthest ? 1 : failed + 1;
        d->furthest = d->at > d->furthest ? d->at : d->furthest;
        if (!again || (rc = hub_session_wait(s, failed, asked_s)) != 0)
            return rc;
    }
    return report_part(d);
}

/* ERR_MISMATCH: the part is another file. */
static int check_part(const struct part *d)
{
    struct file f;
    bool known;
    int rc = file_open(&f, d->path);
    if (rc != 0)
        return rc;
    if (d->bytes >= 0 && f.bytes != (uint64_t)d->bytes)
        rc = err_set(ERR_MISMATCH, "%" PRIu64 " bytes arrived, expected %" PRId64, f.bytes,
                     d->bytes);
    if (rc == 0)
        rc = hub_digest_check(&f, d->t->digest, &known, d->progress);
    file_close(&f);
    return rc;
}

static int name_part(const struct part *d)
{
    if (fsync(d->fd) != 0)
        return file_error("write", d->path);
    if (rename(d->path, d->t->path) != 0)
        return file_error("write", d->t->path);
    return file_sync_parent(d->t->path);
}

/* What was joined of several answers may not fit together: once, all of it is asked for anew. */
static int run_part(struct part *d, struct hub_session *s)
{
    d->joined = d->at > 0;
    for (bool anew = false;; anew = true) {
        int rc = fill_part(d, s);
        if (rc == 0 && (rc = check_part(d)) == 0)
            return name_part(d);
        if (rc != ERR_MISMATCH)
            return rc;
        if (anew || !d->joined) {
            unlink(d->path);
            return rc;
        }
        progress_note(d->progress, "%s; beginning anew", err_text());
        d->joined = false;
        d->furthest = 0;
        if ((rc = drop_part(d)) != 0)
            return rc;
    }
}

static char *part_path(const struct hub_transfer *t)
{
    return mem_sprintf("%s.incomplete", t->path);
}

int hub_transfer_run(const struct hub_transfer *t, struct hub_session *s)
{
    struct part d = {
        .t = t, .progress = s->progress, .path = part_path(t), .fd = -1, .bytes = t->bytes};
    int rc = d.path == NULL ? ERR_NOMEM : open_part(&d);
    if (rc == 0 && (rc = run_part(&d, s)) != 0 && d.at == 0)
        unlink(d.path);
    if (d.fd >= 0)
        close(d.fd);
    mem_free(d.path);
    return rc;
}

int64_t hub_transfer_there(const struct hub_transfer *t)
{
    struct stat st;
    int64_t bytes = 0;
    char *part = part_path(t);
    if (stat(t->path, &st) == 0 && S_ISREG(st.st_mode))
        bytes = st.st_size;
    else if (part != NULL && lstat(part, &st) == 0 && S_ISREG(st.st_mode))
        bytes = st.st_size;
    mem_free(part);
    return bytes;
}
