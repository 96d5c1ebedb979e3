#include "train/data/text_whole.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "train/data/packing.h"
#include "train/data/text_stream.h"
#include "train/data/utf16.h"

#include <string.h>

enum { BLOCK_BYTES = 1 << 18 };

static int read_text(struct buf *out, struct text_stream *s, uint64_t max)
{
    int rc = 0;
    for (size_t got = BLOCK_BYTES; rc == 0 && got == BLOCK_BYTES;) {
        if ((rc = buf_reserve(out, BLOCK_BYTES)) == 0 &&
            (rc = text_stream_read(s, out->data + out->n, BLOCK_BYTES, &got)) == 0)
            out->n += got;
        if (rc == 0 && out->n > max)
            rc = err_set(ERR_RANGE, "%s has more than the %llu bytes that are read", s->name,
                         (unsigned long long)max);
    }
    return rc;
}

static int read_packed(struct buf *out, const char *path, uint64_t max)
{
    const struct data_source source = {
        .path = (char *)(uintptr_t)path, .kind = DATA_TEXT, .packed = true};
    struct text_stream s;
    bool got = false, more = false;
    int rc = text_stream_open(&s, &source, "text", false);
    if (rc != 0)
        return rc;
    if ((rc = text_stream_next(&s, &got)) == 0 && got)
        rc = read_text(out, &s, max);
    if (rc == 0 && got)
        rc = text_stream_next(&s, &more);
    if (rc == 0 && (!got || more))
        rc = file_refuse(ERR_FORMAT, path,
                         more ? "has several texts: unpack it, and name one" : "has no text in it");
    text_stream_close(&s);
    return rc;
}

/* Without its byte order mark, UTF-16 as UTF-8. */
static int take_mark(struct buf *text, const char *path)
{
    static const char mark[] = "\xef\xbb\xbf";
    char shown[256];
    if (utf16_has_mark(buf_text(text), text->n)) {
        struct utf16 u = {0};
        struct buf out = {0};
        utf16_begin(&u, text->data);
        const int rc = utf16_decode(&u, &out, file_show(shown, sizeof shown, path), text->data + 2,
                                    text->n - 2, true);
        buf_release(text);
        *text = out;
        return rc;
    }
    if (text->n >= sizeof mark - 1 && memcmp(text->data, mark, sizeof mark - 1) == 0)
        memmove(text->data, text->data + sizeof mark - 1,
                (text->n -= sizeof mark - 1) + 1); /* its NUL too */
    return 0;
}

int text_whole_read(struct buf *out, const char *path, uint64_t max)
{
    char head[TEXT_HEAD];
    struct file f;
    int rc = file_open(&f, path);
    if (rc != 0)
        return rc;
    const size_t n = f.bytes < sizeof head ? (size_t)f.bytes : sizeof head;
    rc = file_read_at(&f, head, 0, n);
    if (rc == 0)
        rc = data_is_packed(head, n, path) ? read_packed(out, path, max)
                                           : file_read_whole(out, &f, max);
    file_close(&f);
    return rc == 0 ? take_mark(out, path) : rc;
}
