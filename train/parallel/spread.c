#include "train/parallel/spread.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "model/base/thread.h"

#include <stdatomic.h>

enum { PART = 1 << 18 /* elements of a message */, WINDOW = 2 /* that are on their way at once */ };

/* A message, and which unit it is of. */
struct message {
    struct transfer x;
    int unit; /* -1: none is going */
};

/* A slice on its way from one rank to another, one of which is this one. */
struct stream {
    int owner, other; /* of the slice; at the other end: places in the group */
    int unit;         /* next to go: part k of a unit */
    size_t k;
    struct message window[WINDOW];
};

struct spread {
    struct rank_group group;
    struct unit_slices slices;
    size_t each;
    char *data;             /* at work */
    struct stream *streams; /* [2 * size]: to each rank, from each rank */
    int *left;              /* [n_units], messages that are still to be received */
    atomic_int here;        /* so many units, from the first on, are whole */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool started;
    bool quit, going; /* under the lock; going: the thread is at work, or is to be */
};

/* ---- messages ---- */

/* To the next part that there is; false: there are no more. */
static bool find_part(const struct spread *s, struct stream *m, size_t *at, size_t *n)
{
    for (; m->unit < s->slices.n_units; m->unit++, m->k = 0) {
        *at = unit_slices_part(&s->slices, m->unit, m->owner, PART, m->k, n);
        if (*n > 0)
            return true;
    }
    return false;
}

/* The next one, if there is one. */
static void begin_message(struct spread *s, struct stream *m, struct message *to)
{
    size_t at, n;
    if (!find_part(s, m, &at, &n))
        return;
    char *data = s->data + at * s->each;
    const int rank = group_rank(&s->group, m->other);
    to->unit = m->unit;
    if (m->owner == s->group.own)
        world_send(rank, TAG_SPREAD, data, n * s->each, &to->x);
    else
        world_receive(rank, TAG_SPREAD, data, n * s->each, &to->x);
    m->k++;
}

/* What has come, or gone; whether anything has. *more: not all of the stream has. */
static bool move_stream(struct spread *s, struct stream *m, bool *more)
{
    bool moved = false;
    for (int i = 0; i < WINDOW; i++) {
        struct message *w = &m->window[i];
        if (w->unit >= 0 && world_test(&w->x, 1)) {
            s->left[w->unit] -= m->owner != s->group.own;
            w->unit = -1;
            moved = true;
        }
        if (w->unit < 0)
            begin_message(s, m, w);
        *more |= w->unit >= 0;
    }
    return moved;
}

static void begin_streams(struct spread *s)
{
    const int size = s->group.size, own = s->group.own;
    for (int i = 0; i < s->slices.n_units; i++)
        s->left[i] = 0;
    for (int i = 0; i < 2 * size; i++) {
        const int other = i % size;
        struct stream *m = &s->streams[i];
        *m = (struct stream){.owner = i < size ? own : other, .other = other};
        for (int k = 0; k < WINDOW; k++)
            m->window[k].unit = -1;
        if (other == own)
            m->unit = s->slices.n_units;
        size_t at, n;
        for (struct stream all = *m; i >= size && find_part(s, &all, &at, &n); all.k++)
            s->left[all.unit]++;
    }
}

static void tell_readers(struct spread *s)
{
    int here = atomic_load(&s->here);
    while (here < s->slices.n_units && s->left[here] == 0)
        here++;
    if (here == atomic_load(&s->here))
        return;
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->here, here);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void spread_all(struct spread *s)
{
    begin_streams(s);
    tell_readers(s);
    int pauses = 0;
    for (bool more = true; more;) {
        bool moved = more = false;
        for (int i = 0; i < 2 * s->group.size; i++)
            moved |= move_stream(s, &s->streams[i], &more);
        if (moved) {
            tell_readers(s);
            pauses = 0;
        } else if (more) {
            world_pause(&pauses);
        }
    }
}

/* ---- the thread ---- */

static void *serve(void *arg)
{
    struct spread *s = arg;
    pthread_mutex_lock(&s->lock);
    while (s->going || !s->quit) {
        if (!s->going) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        pthread_mutex_unlock(&s->lock);
        spread_all(s);
        pthread_mutex_lock(&s->lock);
        s->going = false;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

int spread_new(struct spread **out, const struct rank_group *g, const struct unit_slices *slices,
               size_t each)
{
    struct spread *s = mem_alloc(sizeof *s);
    *out = NULL;
    if (s == NULL)
        return ERR_NOMEM;
    s->group = *g;
    s->each = each;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    int rc = unit_slices_copy(&s->slices, slices);
    atomic_init(&s->here, slices->n_units);
    s->streams = mem_array(2 * (size_t)g->size, sizeof *s->streams);
    s->left = mem_array((size_t)slices->n_units, sizeof *s->left);
    if (s->streams == NULL || s->left == NULL)
        rc = ERR_NOMEM;
    if (rc == 0 && world_threaded())
        rc = thread_start(&s->thread, serve, s);
    s->started = rc == 0 && world_threaded();
    if (rc != 0)
        spread_free(s);
    else
        *out = s;
    return rc;
}

void spread_free(struct spread *s)
{
    if (s == NULL)
        return;
    if (s->started) {
        pthread_mutex_lock(&s->lock);
        s->quit = true;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
    }
    unit_slices_release(&s->slices);
    mem_free(s->streams);
    mem_free(s->left);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    mem_free(s);
}

/* ---- for others ---- */

void spread_begin(struct spread *s, void *data)
{
    spread_finish(s);
    s->data = data;
    atomic_store(&s->here, 0);
    if (!s->started) {
        spread_all(s);
        return;
    }
    pthread_mutex_lock(&s->lock);
    s->going = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

void spread_await(struct spread *s, int unit)
{
    if (atomic_load_explicit(&s->here, memory_order_acquire) > unit)
        return;
    const enum profile_part was = profile_set(PART_EXCHANGE);
    pthread_mutex_lock(&s->lock);
    while (atomic_load(&s->here) <= unit)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    profile_resume(was);
}

void spread_finish(struct spread *s)
{
    const enum profile_part was = profile_set(PART_EXCHANGE);
    pthread_mutex_lock(&s->lock);
    while (s->going)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    profile_resume(was);
}
