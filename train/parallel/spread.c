#include "train/parallel/spread.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "model/base/thread.h"

#include <stdatomic.h>

enum { PART = 1 << 18 /* elements of a message */ };

/* A slice on its way from one rank to another, one of which is this one. */
struct stream {
    int owner, other; /* of the slice; at the other end: places in the group */
    int unit;         /* next to go: part k of a unit */
    size_t k;
    int going; /* the unit of the message that is on its way; -1: none is */
};

struct spread {
    struct rank_group group;
    struct unit_slices slices;
    size_t each;
    char *data;                 /* at work */
    struct stream *streams;     /* [2 * size]: to each rank, from each rank */
    struct transfer *transfers; /* [2 * size], of these */
    int *left;                  /* [n_units], messages that are still to be received */
    atomic_int here;            /* so many units, from the first on, are whole */
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

/* Its next message; whether there is one. */
static bool begin_message(struct spread *s, int stream)
{
    struct stream *m = &s->streams[stream];
    size_t at, n;
    m->going = -1;
    if (!find_part(s, m, &at, &n))
        return false;
    char *data = s->data + at * s->each;
    const int rank = group_rank(&s->group, m->other);
    if (m->owner == s->group.own)
        world_send(rank, TAG_SPREAD, data, n * s->each, &s->transfers[stream]);
    else
        world_receive(rank, TAG_SPREAD, data, n * s->each, &s->transfers[stream]);
    m->going = m->unit;
    m->k++;
    return true;
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

/* A message of each stream at once: were they on their way without regard to each other, what MPI
 * has to say before each would wait behind what goes the same way, and half of a link be idle. */
static void spread_all(struct spread *s)
{
    const int n = 2 * s->group.size;
    begin_streams(s);
    tell_readers(s);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < n; i++)
            more |= begin_message(s, i);
        world_wait(s->transfers, n);
        for (int i = 0; i < n; i++)
            if (s->streams[i].going >= 0)
                s->left[s->streams[i].going] -= s->streams[i].owner != s->group.own;
        tell_readers(s);
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
    s->transfers = mem_array(2 * (size_t)g->size, sizeof *s->transfers);
    s->left = mem_array((size_t)slices->n_units, sizeof *s->left);
    if (s->streams == NULL || s->transfers == NULL || s->left == NULL)
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
    mem_free(s->transfers);
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
