/*
 * One list of pieces under one lock. A thread takes the next part of the first piece that has one
 * left; a piece leaves the list when its last part is taken, and is done when its last part is
 * done. After an error the parts of a piece that nobody took are skipped.
 */
#include "model/base/disk_queue.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4 };

struct disk_queue {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct disk_piece *first, **last;
    pthread_t threads[THREADS];
    int n_threads;
    bool quit;
};

/* ---- parts ---- */

static int run_part(const struct disk_piece *p, size_t part)
{
    const size_t from = part * DISK_PART;
    const size_t n = p->bytes - from < DISK_PART ? p->bytes - from : DISK_PART;
    if (p->writes)
        return disk_file_write(p->file, p->data + from, p->at + from, n);
    int rc = disk_file_read(p->file, p->data + from, p->at + from, n);
    return rc == 0 && p->check != NULL ? p->check(p->user, p->at + from, p->data + from, n) : rc;
}

/* Take a part of the first piece; the lock is held. NULL: there is none. */
static struct disk_piece *take_part(struct disk_queue *q, size_t *part)
{
    struct disk_piece *p = q->first;
    if (p == NULL)
        return NULL;
    *part = p->n_taken++;
    if (p->n_taken == p->n_parts) {
        q->first = p->next;
        if (q->first == NULL)
            q->last = &q->first;
    }
    return p;
}

static void *work_on_parts(void *arg)
{
    struct disk_queue *q = arg;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        size_t part;
        struct disk_piece *p = take_part(q, &part);
        if (p == NULL && q->quit)
            break;
        if (p == NULL) {
            pthread_cond_wait(&q->work, &q->lock);
            continue;
        }
        int rc = p->error;
        if (rc == 0) {
            pthread_mutex_unlock(&q->lock);
            rc = run_part(p, part);
            pthread_mutex_lock(&q->lock);
        }
        if (rc != 0 && p->error == 0) {
            p->error = rc;
            snprintf(p->text, sizeof p->text, "%s", err_text());
        }
        if (++p->n_done == p->n_parts)
            pthread_cond_broadcast(&q->done);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* ---- the queue ---- */

int disk_queue_open(struct disk_queue **out)
{
    struct disk_queue *q = mem_alloc(sizeof *q);
    *out = NULL;
    if (q == NULL)
        return ERR_NOMEM;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->work, NULL);
    pthread_cond_init(&q->done, NULL);
    q->last = &q->first;
    while (q->n_threads < THREADS && thread_start(&q->threads[q->n_threads], work_on_parts, q) == 0)
        q->n_threads++;
    if (q->n_threads == 0) {
        disk_queue_close(q);
        return ERR_NOMEM;
    }
    *out = q;
    return 0;
}

void disk_queue_close(struct disk_queue *q)
{
    if (q == NULL)
        return;
    pthread_mutex_lock(&q->lock);
    q->quit = true;
    pthread_cond_broadcast(&q->work);
    pthread_mutex_unlock(&q->lock);
    for (int i = 0; i < q->n_threads; i++)
        pthread_join(q->threads[i], NULL);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->work);
    pthread_cond_destroy(&q->done);
    mem_free(q);
}

void disk_queue_start(struct disk_queue *q, struct disk_piece *p)
{
    pthread_mutex_lock(&q->lock);
    p->n_parts = (p->bytes + DISK_PART - 1) / DISK_PART;
    p->n_taken = p->n_done = 0;
    p->error = 0;
    p->next = NULL;
    p->started = true;
    if (p->n_parts > 0) {
        *q->last = p;
        q->last = &p->next;
        pthread_cond_broadcast(&q->work);
    }
    pthread_mutex_unlock(&q->lock);
}

int disk_queue_wait(struct disk_queue *q, struct disk_piece *p)
{
    pthread_mutex_lock(&q->lock);
    while (p->started && p->n_done < p->n_parts)
        pthread_cond_wait(&q->done, &q->lock);
    const int rc = p->started ? p->error : 0;
    p->started = false;
    pthread_mutex_unlock(&q->lock);
    return rc == 0 ? 0 : err_set(rc, "%s", p->text);
}

int disk_queue_run(struct disk_queue *q, struct disk_piece *p)
{
    disk_queue_start(q, p);
    return disk_queue_wait(q, p);
}

/* ---- how fast ---- */

/* Both ways take turns, each on parts of its own; of those that go through the cache, what the
 * cache has is dropped before, since it will not have it when memory is short. */
enum { TRIAL_BYTES = 32 << 20, TRIALS = 6 };

int disk_queue_measure(struct disk_queue *q, struct disk_file *f, uint64_t first, uint64_t last,
                       double *bytes_per_s)
{
    double s[2] = {0};
    *bytes_per_s = 0;
    first = disk_round(first);
    const uint64_t each = (last - first) / TRIALS / DISK_UNIT * DISK_UNIT;
    if (last < first || each < TRIAL_BYTES || f->direct < 0)
        return 0;
    char *data = mem_map("disk trial", TRIAL_BYTES);
    if (data == NULL)
        return ERR_NOMEM;
    memset(data, 0, TRIAL_BYTES);
    int rc = 0;
    for (int i = 0; i < TRIALS && rc == 0; i++) {
        struct disk_piece p = {
            .file = f, .at = first + (uint64_t)i * each, .bytes = TRIAL_BYTES, .data = data};
        f->use_direct = i % 2 == 0;
        if (i % 2 != 0)
            posix_fadvise(f->fd, (off_t)p.at, (off_t)p.bytes, POSIX_FADV_DONTNEED);
        const double begin = clock_s();
        rc = disk_queue_run(q, &p);
        s[i % 2] += clock_s() - begin;
    }
    mem_unmap(data, TRIAL_BYTES);
    f->use_direct = s[0] < s[1];
    if (rc == 0)
        *bytes_per_s = TRIALS / 2 * (double)TRIAL_BYTES / (f->use_direct ? s[0] : s[1]);
    return rc;
}
