#include "train/data/unpacked.h"

#include "model/base/err.h"
#include "train/data/packing.h"
#include "train/data/working_file.h"

enum { HEAD_BYTES = 512, SHOWN = 160 };

struct reading {
    struct text_stream *stream;
    const struct progress *progress;
};

static int read_stream(void *user, char *dst, size_t n, size_t *got)
{
    const struct reading *r = user;
    struct text_stream *s = r->stream;
    int rc = progress_step(r->progress, "unpacking", s->read, s->file.bytes);
    return rc == 0 ? text_stream_read(s, dst, n, got) : rc;
}

/* The text in progress, for as long as take needs it. */
static int take_text(struct text_stream *s, const char *folder,
                     int (*take)(void *user, const struct file *f), void *user,
                     const struct progress *p)
{
    struct file one;
    struct reading reading = {s, p};
    int rc = working_file_open(&one, folder, s->name);
    if (rc == 0)
        rc = working_file_fill(&one, folder, s->bytes, read_stream, &reading);
    if (rc == 0)
        rc = take(user, &one);
    working_file_close(&one);
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
    if (!data_is_packed(head, n_head, f->path))
        return take(user, f);
    if ((rc = text_stream_open(&s, &source, "", false)) != 0)
        return rc;
    rc = take_texts(&n, &s, folder, choose, take, user, p);
    text_stream_close(&s);
    return rc == 0 && n == 0 ? err_set(ERR_FORMAT, "%s has no file of token ids",
                                       file_show(shown, sizeof shown, f->path))
                             : rc;
}
