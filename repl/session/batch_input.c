#include "repl/session/batch_input.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/progress.h"
#include "model/base/utf8.h"
#include "sampling/scheduler.h"
#include "train/data/encoding.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10 };

static const char *input_name(const struct batch_input *in)
{
    return in->path == NULL ? "standard input" : in->path;
}

static const char UTF8_MARK[] = "\xef\xbb\xbf";
enum { UTF8_MARK_BYTES = sizeof UTF8_MARK - 1 };

/* Whether so few bytes may be a part of a mark. */
static bool is_half_mark(const char *text, size_t n)
{
    return (n == 1 && (*text == '\xff' || *text == '\xfe')) ||
           (n > 0 && n < UTF8_MARK_BYTES && memcmp(text, UTF8_MARK, n) == 0);
}

/* Take off the mark that the first bytes may be. */
static void begin_input(struct batch_input *in)
{
    struct buf *p = &in->pending;
    size_t mark = 0;
    in->begun = p->n > 0;
    if (utf16_has_mark(buf_text(p), p->n)) {
        utf16_begin(&in->utf16, p->data);
        mark = 2;
    } else if (p->n >= UTF8_MARK_BYTES && memcmp(p->data, UTF8_MARK, UTF8_MARK_BYTES) == 0) {
        mark = UTF8_MARK_BYTES;
    }
    if (mark > 0)
        memmove(p->data, p->data + mark, (p->n -= mark) + 1); /* its NUL too */
}

/* The bytes of `pending` from `from` on are new. */
static int decode_input(struct batch_input *in, size_t from)
{
    struct buf *p = &in->pending;
    if (!in->begun && !in->ended && is_half_mark(buf_text(p), p->n))
        return 0;
    if (!in->begun) {
        begin_input(in);
        from = 0;
    }
    if (!in->utf16.on)
        return 0;
    in->raw.n = 0;
    int rc = buf_add(&in->raw, p->data + from, p->n - from);
    p->n = from;
    return rc != 0 ? rc
                   : utf16_decode(&in->utf16, p, input_name(in), buf_text(&in->raw), in->raw.n,
                                  in->ended);
}

/* Read more: REQUEST_READY when there was something, REQUEST_LATER, or a code. */
static int read_input(struct batch_input *in, bool wait)
{
    if (in->at > 0) {
        memmove(in->pending.data, in->pending.data + in->at, in->pending.n - in->at);
        in->pending.n -= in->at;
        in->at = 0;
    }
    int rc = buf_reserve(&in->pending, READ_BYTES);
    if (rc == 0 && wait)
        rc = file_wait(in->fd);
    if (rc != 0)
        return rc;
    if (interrupt_pending())
        return err_set(ERR_INTERRUPTED, "interrupted");
    struct pollfd p = {.fd = in->fd, .events = POLLIN};
    if (poll(&p, 1, 0) <= 0)
        return REQUEST_LATER;
    const size_t from = in->pending.n;
    ssize_t n = read(in->fd, in->pending.data + from, READ_BYTES);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return REQUEST_LATER;
    if (n < 0)
        return err_errno("cannot read the prompts");
    in->pending.n += (size_t)n;
    in->ended = n == 0;
    rc = decode_input(in, from);
    return rc != 0 ? rc : REQUEST_READY;
}

int batch_input_next(struct batch_input *in, const char **line, size_t *n, bool wait)
{
    for (size_t looked = 0;;) {
        const char *from = in->pending.data + in->at;
        size_t have = in->pending.n - in->at;
        const char *end = have > looked ? memchr(from + looked, '\n', have - looked) : NULL;
        if (end == NULL && !in->ended) {
            looked = in->begun ? have : 0; /* else a mark may go */
            int rc = read_input(in, wait);
            if (rc == REQUEST_LATER && wait)
                continue;
            if (rc != REQUEST_READY)
                return rc;
            if (in->utf16.on)
                looked = 0;
            continue;
        }
        if (end == NULL && have == 0)
            return REQUEST_END;
        *line = from;
        *n = end != NULL ? (size_t)(end - from) : have;
        in->at += *n + (end != NULL);
        if (*n > 0 && from[*n - 1] == '\r')
            --*n;
        return REQUEST_READY;
    }
}

int batch_input_begin_whole(struct batch_input *in)
{
    in->ended = true;
    return decode_input(in, 0);
}

int batch_input_check(struct batch_input *in, const char *line, size_t n)
{
    const size_t valid = utf8_valid(line, n);
    in->beyond_ascii = in->beyond_ascii || utf8_ascii(line, n) < valid;
    if (valid == n)
        return 0;
    return encoding_refuse("the prompt", &(struct encoding_fault){.at = line + valid,
                                                                  .n = n - valid,
                                                                  .before = valid,
                                                                  .after_utf8 = in->beyond_ascii,
                                                                  .path = in->path});
}

int batch_input_whole(struct buf *text, int fd)
{
    struct batch_input in = {.fd = fd};
    int rc = file_read_fd(&in.pending, fd);
    if (rc == 0)
        rc = batch_input_begin_whole(&in);
    if (rc == 0)
        rc = batch_input_check(&in, buf_text(&in.pending), in.pending.n);
    if (rc == 0)
        rc = buf_add(text, buf_text(&in.pending), in.pending.n);
    batch_input_release(&in);
    return rc;
}

void batch_input_release(struct batch_input *in)
{
    buf_release(&in->pending);
    buf_release(&in->raw);
}
