#include "train/data/unpacked.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/data/packing.h"

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

/* The text in progress, for as long as take needs it. */
static int take_text(struct text_stream *s, const char *folder,
                     int (*take)(void *user, const struct file *f), void *user,
                     const struct progress *p)
{
    struct file one = {.path = s->name, .fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
    if (one.fd < 0)
        return file_error("write in", folder);
    int rc = copy_text(one.fd, &one.bytes, s, p);
    if (rc == 0)
        rc = take(user, &one);
    close(one.fd);
    return rc;
}

static int take_texts(size_t *n, struct text_stream *s, const char *folder,
                      int (*choose)(void *user, const struct text_stream *s, bool *take),
                      int (*take)(void *user, const struct file *f), void *user,
                      const struct progress *p)
{
    bool got = true;
    int rc = 0;
    /* To the end, where the checksums stand. */
    while (rc == 0 && (rc = text_stream_next(s, &got)) == 0 && got) {
        bool chosen = true;
        rc = choose == NULL ? 0 : choose(user, s, &chosen);
        if (rc == 0 && chosen)
            rc = take_text(s, folder, take, user, p);
        *n += chosen;
    }
    return rc;
}

int unpacked_each(const struct file *f, const char *folder,
                  int (*choose)(void *user, const struct text_stream *s, bool *take),
                  int (*take)(void *user, const struct file *f), void *user,
                  const struct progress *p)
{
    char head[HEAD_BYTES], shown[SHOWN];
    const struct data_source source = {.path = f->path, .packed = true};
    struct text_stream s;
    size_t n = 0;
    const size_t n_head = f->bytes < sizeof head ? (size_t)f->bytes : sizeof head;
    int rc = file_read_at(f, head, 0, n_head);
    if (rc != 0)
        return rc;
    if (!data_is_packed(head, n_head))
        return take(user, f);
    if ((rc = text_stream_open(&s, &source, "")) != 0)
        return rc;
    rc = take_texts(&n, &s, folder, choose, take, user, p);
    text_stream_close(&s);
    return rc == 0 && n == 0 ? err_set(ERR_FORMAT, "%s has no file of token ids",
                                       file_show(shown, sizeof shown, f->path))
                             : rc;
}
