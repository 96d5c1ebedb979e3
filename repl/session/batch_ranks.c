#include "repl/session/batch_ranks.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "train/parallel/world.h"

#include <limits.h>
#include <string.h>

/* What a rank sends of a line, before the bytes of its warning and output; or that it has ended. */
struct line_head {
    bool ends, cut, full;
    int rc; /* of the end; its sentence is the warning */
    long failures;
    uint64_t n_warning, n_out;
};

/* Of another rank, on its way to rank 0. */
struct sent_line {
    struct sent_line *next;
    struct line_head head;
    struct buf bytes;
    struct transfer x[2];
};

/* Of rank 0: a line that is done, or that is to come from a rank. */
struct queued_line {
    struct queued_line *next;
    int rank;
    struct line_output output; /* of rank 0 */
};

struct batch_ranks {
    int (*write)(void *user, struct line_output *o);
    void *user;
    struct queued_line *first, **last;
    bool *ended; /* [size] */
    bool cut;    /* a line is missing, and nothing behind it is written */
    int rc;      /* of a rank that ended */
    char *sentence;
    struct sent_line *sent, **last_sent;
};

void line_output_release(struct line_output *o)
{
    buf_release(&o->out);
    mem_free(o->warning);
    *o = (struct line_output){0};
}

int batch_ranks_read(struct buf *text, int fd)
{
    int rc = world_rank() == 0 ? file_read_fd(text, fd) : 0;
    if ((rc = world_agree(rc)) != 0)
        return rc;
    uint64_t n = text->n;
    world_broadcast(&n, sizeof n, 0);
    if ((rc = world_agree(buf_reserve(text, (size_t)n + 1))) != 0)
        return rc;
    world_broadcast(text->data, (size_t)n, 0);
    text->n = (size_t)n;
    return 0;
}

bool batch_ranks_owns(long line)
{
    return (line - 1) % world_size() == world_rank();
}

int batch_ranks_open(struct batch_ranks **out, int (*write)(void *user, struct line_output *o),
                     void *user)
{
    struct batch_ranks *b = mem_alloc(sizeof *b);
    *out = NULL;
    if (b == NULL)
        return ERR_NOMEM;
    *b = (struct batch_ranks){.write = write, .user = user};
    b->last = &b->first;
    b->last_sent = &b->sent;
    if ((b->ended = mem_array((size_t)world_size(), sizeof *b->ended)) == NULL) {
        mem_free(b);
        return ERR_NOMEM;
    }
    *out = b;
    return 0;
}

/* ---- ranks other than 0 ---- */

static void free_sent(struct batch_ranks *b, bool wait)
{
    while (b->sent != NULL && (wait || world_test(b->sent->x, 2))) {
        struct sent_line *s = b->sent;
        world_wait(s->x, 2);
        b->sent = s->next;
        buf_release(&s->bytes);
        mem_free(s);
    }
    if (b->sent == NULL)
        b->last_sent = &b->sent;
}

static int send_line(struct batch_ranks *b, const struct line_head *head, const char *warning,
                     const struct buf *out)
{
    struct sent_line *s = mem_alloc(sizeof *s);
    if (s == NULL)
        return ERR_NOMEM;
    s->head = *head;
    s->head.n_warning = warning == NULL ? 0 : strlen(warning);
    s->head.n_out = out == NULL ? 0 : out->n;
    int rc = warning == NULL ? 0 : buf_str(&s->bytes, warning);
    if (rc == 0 && out != NULL)
        rc = buf_add(&s->bytes, buf_text(out), out->n);
    if (rc == 0 && s->bytes.n > INT_MAX)
        rc = err_set(ERR_RANGE, "a line's answers have more than 2 GiB");
    if (rc != 0) {
        buf_release(&s->bytes);
        mem_free(s);
        return rc;
    }
    world_send(0, TAG_STATE, &s->head, sizeof s->head, &s->x[0]);
    if (s->bytes.n > 0)
        world_send(0, TAG_STATE, s->bytes.data, s->bytes.n, &s->x[1]);
    *b->last_sent = s;
    b->last_sent = &s->next;
    free_sent(b, false);
    return 0;
}

bool batch_ranks_stopped(struct batch_ranks *b)
{
    (void)b;
    return world_rank() > 0 && world_arrived(0, TAG_WORD);
}

/* ---- rank 0 ---- */

static int note_end(struct batch_ranks *b, int rank, int rc, const char *sentence)
{
    b->ended[rank] = true;
    if (rc == 0 || b->rc != 0)
        return 0;
    b->rc = rc;
    b->sentence = rc == ERR_INTERRUPTED
                      ? mem_strdup(sentence)
                      : mem_sprintf("rank %d on %s: %s", rank, world_host(rank), sentence);
    return b->sentence == NULL ? ERR_NOMEM : 0;
}

/* The next line of a rank; where it has ended instead, o stays empty. */
static int receive_line(struct batch_ranks *b, int rank, struct line_output *o)
{
    struct line_head head;
    struct buf bytes = {0};
    world_receive_whole(rank, TAG_STATE, &head, sizeof head);
    const size_t n = (size_t)(head.n_warning + head.n_out);
    int rc = buf_reserve(&bytes, n + 1);
    if (rc != 0) { /* the rank would wait for ever */
        world_end_all(1);
        return rc;
    }
    if (n > 0) {
        struct transfer x = {0};
        world_receive(rank, TAG_STATE, bytes.data, n, &x); /* as it was sent, in one */
        world_wait(&x, 1);
    }
    char *warning =
        head.n_warning == 0 ? NULL : mem_sprintf("%.*s", (int)head.n_warning, bytes.data);
    if (head.ends) {
        rc = note_end(b, rank, head.rc, warning == NULL ? "" : warning);
        mem_free(warning);
    } else {
        *o = (struct line_output){
            .warning = warning, .failures = head.failures, .cut = head.cut, .full = head.full};
        rc = buf_add(&o->out, bytes.data + head.n_warning, (size_t)head.n_out);
    }
    buf_release(&bytes);
    return rc;
}

/* A rank has stopped, and what is behind its missing line is for nothing. */
static bool is_lost(const struct batch_ranks *b)
{
    return b->cut && b->rc != 0;
}

static int say_end(const struct batch_ranks *b)
{
    return err_set(b->rc, "%s", b->sentence == NULL ? "no memory" : b->sentence);
}

/* Write what is there, up to the first line that is not; wait: up to one that will not be. */
static int flush_lines(struct batch_ranks *b, bool wait)
{
    int rc = 0;
    while (rc == 0 && b->first != NULL && !is_lost(b)) {
        struct queued_line *q = b->first;
        const bool other = q->rank > 0;
        if (other && !b->ended[q->rank]) {
            if (!wait && !world_arrived(q->rank, TAG_STATE))
                break;
            rc = receive_line(b, q->rank, &q->output);
        }
        b->cut |= other && b->ended[q->rank];
        if (rc == 0 && !b->cut)
            rc = b->write(b->user, &q->output);
        b->first = q->next;
        line_output_release(&q->output);
        mem_free(q);
    }
    if (b->first == NULL)
        b->last = &b->first;
    return rc;
}

static int queue_line(struct batch_ranks *b, long line, struct line_output *o)
{
    struct queued_line *q = mem_alloc(sizeof *q);
    if (q == NULL)
        return ERR_NOMEM;
    q->rank = (int)((line - 1) % world_size());
    if (o != NULL) {
        q->output = *o;
        *o = (struct line_output){0};
    }
    *b->last = q;
    b->last = &q->next;
    const int rc = flush_lines(b, false);
    return rc == 0 && is_lost(b) ? say_end(b) : rc;
}

int batch_ranks_next(struct batch_ranks *b, long line, struct line_output *o)
{
    if (world_rank() == 0)
        return queue_line(b, line, o);
    if (o == NULL)
        return 0;
    const struct line_head head = {.cut = o->cut, .full = o->full, .failures = o->failures};
    int rc = send_line(b, &head, o->warning, &o->out);
    line_output_release(o);
    return rc;
}

/* ---- the end ---- */

static int close_first(struct batch_ranks *b, int rc)
{
    static const int enough = 1;
    const int first = rc;
    struct err_kept why;
    err_keep(&why);
    if (rc == 0 || rc == ERR_INTERRUPTED) {
        const int written = flush_lines(b, true);
        rc = written != 0 ? written : rc;
    }
    for (int rank = 1; rank < world_size(); rank++)
        world_send_whole(rank, TAG_WORD, &enough, sizeof enough);
    for (int rank = 1; rank < world_size(); rank++)
        while (!b->ended[rank]) {
            struct line_output late = {0};
            if (receive_line(b, rank, &late) != 0)
                b->ended[rank] = true;
            line_output_release(&late);
        }
    if (rc == 0 && b->rc != 0)
        rc = say_end(b);
    else if (rc != 0 && rc == first)
        err_restore(&why);
    return rc;
}

static int close_other(struct batch_ranks *b, int rc)
{
    int enough;
    const struct line_head head = {.ends = true, .rc = rc};
    if (send_line(b, &head, rc == 0 ? NULL : err_text(), NULL) != 0)
        world_end_all(1);
    free_sent(b, true);
    world_receive_whole(0, TAG_WORD, &enough, sizeof enough);
    return rc;
}

int batch_ranks_close(struct batch_ranks *b, int rc)
{
    rc = world_rank() == 0 ? close_first(b, rc) : close_other(b, rc);
    while (b->first != NULL) {
        struct queued_line *q = b->first;
        b->first = q->next;
        line_output_release(&q->output);
        mem_free(q);
    }
    mem_free(b->ended);
    mem_free(b->sentence);
    mem_free(b);
    return rc;
}
