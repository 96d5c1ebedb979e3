#include "train/data/token_copy.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/data/pickle_ids.h"
#include "train/data/tfrecord.h"
#include "train/data/unpacked.h"
#include "train/data/working_file.h"

#include <stdio.h>
#include <unistd.h>

enum { REPORT_EVERY = 1024 };

/* Files of one archive that are not of the kind that is copied. */
struct member_choice {
    enum data_kind kind; /* DATA_TFRECORD or DATA_PICKLE */
    struct left_out left_out;
};

/* By their names, and pickles by how they begin. */
static int choose_member(struct member_choice *c, const struct text_stream *s, bool *take)
{
    const bool pickles = c->kind == DATA_PICKLE, one = !text_stream_in_archive(s);
    *take = one || (s->kind == c->kind && (!pickles || pickle_ids_may_be(s->head, s->n_head)));
    if (*take)
        return 0;
    err_set(ERR_FORMAT, "%s is not %s", s->name,
            pickles ? "a pickled list of lists of token ids" : "a TFRecord file");
    return left_out_add(&c->left_out, s->name);
}

static int open_copy(struct token_copy *out, const char *folder)
{
    struct file f;
    int rc = working_file_open(&f, folder, NULL);
    *out = (struct token_copy){.fd = f.fd};
    return rc;
}

static int end_copy(struct token_copy *out, int rc, struct left_out *l, const struct progress *p)
{
    if (rc == 0)
        left_out_note(l, p);
    left_out_release(l);
    if (rc == 0)
        return 0;
    if (out->fd >= 0)
        close(out->fd);
    mem_free(out->documents);
    *out = (struct token_copy){.fd = -1};
    return rc;
}

/* ---- records ---- */

struct record_copy {
    struct member_choice choice; /* first: choose_member's */
    struct token_copy *out;
    struct ids ids;
    struct buf scratch, bounds;
    const struct progress *progress;
};

static int choose_records(void *user, const struct text_stream *s, bool *take)
{
    return choose_member(&((struct record_copy *)user)->choice, s, take);
}

static int take_records(void *user, const struct file *f)
{
    struct record_copy *c = user;
    struct token_copy *out = c->out;
    uint64_t at = 0;
    int rc = 0;
    for (uint64_t i = 0; at < f->bytes && rc == 0; i++) {
        if (i % REPORT_EVERY == 0)
            rc = progress_step(c->progress, "reading the records", at, f->bytes);
        if (rc != 0 || (rc = tfrecord_read(&c->ids, &c->scratch, f, &at)) != 0 || c->ids.n == 0)
            continue;
        rc = file_write_fd(out->fd, c->ids.data, c->ids.n * sizeof *c->ids.data);
        out->n_tokens += c->ids.n;
        out->n_documents++;
        if (rc == 0)
            rc = buf_add(&c->bounds, &out->n_tokens, sizeof out->n_tokens);
    }
    return rc;
}

int token_copy_records(struct token_copy *out, const struct file *f, const char *folder,
                       const struct progress *p)
{
    struct record_copy c = {.choice.kind = DATA_TFRECORD, .out = out, .progress = p};
    int rc = open_copy(out, folder);
    if (rc == 0)
        rc = buf_add(&c.bounds, &out->n_tokens, sizeof out->n_tokens);
    if (rc == 0)
        rc = unpacked_each(f, folder, choose_records, take_records, &c, p);
    out->documents = (uint64_t *)(void *)c.bounds.data;
    ids_release(&c.ids);
    buf_release(&c.scratch);
    return end_copy(out, rc, &c.choice.left_out, p);
}

/* ---- lists ---- */

struct list_copy {
    struct member_choice choice;
    struct id_spool spool;
    const struct progress *progress;
};

static int choose_lists(void *user, const struct text_stream *s, bool *take)
{
    return choose_member(&((struct list_copy *)user)->choice, s, take);
}

static int take_lists(void *user, const struct file *f)
{
    struct list_copy *c = user;
    c->spool.file.path = f->path;
    return pickle_ids_read(&c->spool, f, c->progress);
}

int token_copy_lists(struct token_copy *out, const struct file *f, const char *folder,
                     token_id separator, const struct progress *p)
{
    struct list_copy c = {.choice.kind = DATA_PICKLE, .progress = p};
    int rc = open_copy(out, folder);
    if (rc == 0)
        rc = id_spool_init(&c.spool, out->fd, f->path, separator);
    if (rc == 0 && (rc = unpacked_each(f, folder, choose_lists, take_lists, &c, p)) == 0) {
        out->n_tokens = c.spool.n;
        out->n_documents = c.spool.n_documents;
        out->documents = (uint64_t *)(void *)c.spool.bounds.data;
        c.spool.bounds = (struct buf){0};
    }
    id_spool_release(&c.spool);
    return end_copy(out, rc, &c.choice.left_out, p);
}
