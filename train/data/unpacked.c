#include "train/data/unpacked.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/data/text_stream.h"

#include <fcntl.h>
#include <unistd.h>

enum { UNPACKED_BLOCK = 1 << 18, HEAD_BYTES = 512, SHOWN = 160 };

/* All bytes of the text in progress. */
static int copy_text(int fd, uint64_t *bytes, struct text_stream *s, const struct progress *p)
{
    char *block = mem_alloc(UNPACKED_BLOCK);
    size_t got = UNPACKED_BLOCK;
    int rc = block == NULL ? ERR_NOMEM : 0;
    while (rc == 0 && got == UNPACKED_BLOCK) {
        rc = progress_step(p, "unpacking", s->read, s->file.bytes);
        if (rc == 0)
            rc = text_stream_read(s, block, UNPACKED_BLOCK, &got);
        if (rc == 0)
            rc = file_write_fd(fd, block, got);
        *bytes += rc == 0 ? got : 0;
    }
    mem_free(block);
    return rc;
}

static int unpack_to(int fd, uint64_t *bytes, const char *path, const struct progress *p)
{
    char shown[SHOWN];
    const struct data_source source = {.path = (char *)path, .packed = true};
    struct text_stream s;
    bool one = false, more = false;
    int rc = text_stream_open(&s, &source, "");
    if (rc != 0)
        return rc;
    rc = text_stream_next(&s, &one);
    if (rc == 0 && one)
        rc = copy_text(fd, bytes, &s, p);
    if (rc == 0 && one) /* and the checksums behind it */
        rc = text_stream_next(&s, &more);
    text_stream_close(&s);
    return rc != 0 || (one && !more)
               ? rc
               : err_set(ERR_FORMAT, "%s is an archive of %s files: unpack it first",
                         file_show(shown, sizeof shown, path), one ? "several" : "no");
}

int unpacked_replace(struct file *f, const char *folder, const struct progress *p)
{
    char head[HEAD_BYTES];
    const size_t n = f->bytes < sizeof head ? (size_t)f->bytes : sizeof head;
    uint64_t bytes = 0;
    int rc = file_read_at(f, head, 0, n);
    if (rc != 0 || !data_is_packed(head, n))
        return rc;
    const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return file_error("write in", folder);
    if ((rc = unpack_to(fd, &bytes, f->path, p)) != 0) {
        close(fd);
        return rc;
    }
    close(f->fd);
    f->fd = fd;
    f->bytes = bytes;
    return 0;
}
