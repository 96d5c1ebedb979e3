#include "train/parallel/spread.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "model/base/thread.h"

#include <stdatomic.h>
#include <string.h>

enum { PART = 1 << 18 /* elements of a message */ };

/* The slice of a rank on its way: part k of a unit is next. */
struct stream {
    int owner, unit;
    size_t k;
};

/* Another rank, to which this one's slice goes and whose slice comes from there. */
struct peer {
    int rank;
    struct stream out, in;
    struct transfer transfers[2];
    int incoming; /* the unit of what is to be received; -1: nothing is */
    bool done;
};

struct spread {
    struct rank_group group;
    struct unit_slices slices;
    size_t each;
    char *data;         /* at work */
    struct peer *peers; /* [size - 1] */
    int *left;          /* [n_units], messages that are still to be received */
    atomic_int here;    /* so many units, from the first on, are whole */
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

/*
 * The next message each way. Both are there before the next ones begin: were they on their way
 * without regard to each other, what MPI has to say before each would wait behind what goes the
 * same way, and half of a link be idle.
 */
static void begin_messages(struct spread *s, struct peer *p)
{
    size_t at, n;
    p->done = true;
    p->incoming = -1;
    if (find_part(s, &p->out, &at, &n)) {
        world_send(p->rank, TAG_SPREAD, s->data + at * s->each, n * s->each, &p->transfers[0]);
        p->out.k++;
        p->done = false;
    }
    if (find_part(s, &p->in, &at, &n)) {
        world_receive(p->rank, TAG_SPREAD, s->data + at * s->each, n * s->each, &p->transfers[1]);
        p->incoming = p->in.unit;
        p->in.k++;
        p->done = false;
    }
}

/* Whether messages have come and gone, and the next ones begun. */
static bool move_peer(struct spread *s, struct peer *p)
{
    if (p->done || !world_test(p->transfers, 2))
        return false;
    if (p->incoming >= 0)
        s->left[p->incoming]--;
    begin_messages(s, p);
    return true;
}

static void begin_peers(struct spread *s)
{
    const int own = s->group.own;
    size_t at, n;
    for (int i = 0; i < s->slices.n_units; i++)
        s->left[i] = 0;
    for (int i = 0; i < s->group.size - 1; i++) {
        struct peer *p = &s->peers[i];
        const int other = i + (i >= own);
        *p = (struct peer){
            .rank = group_rank(&s->group, other), .out = {.owner = own}, .in = {.owner = other}};
        for (struct stream all = p->in; find_part(s, &all, &at, &n); all.k++)
            s->left[all.unit]++;
    }
    for (int i = 0; i < s->group.size - 1; i++)
        begin_messages(s, &s->peers[i]);
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
    int pauses = 0;
    begin_peers(s);
    tell_readers(s);
    for (bool more = true; more;) {
        bool moved = more = false;
        for (int i = 0; i < s->group.size - 1; i++) {
            moved |= move_peer(s, &s->peers[i]);
            more |= !s->peers[i].done;
        }
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

/* Their memory is no link: what a thread hid there it would take from the layers. */
static bool share_a_host(const struct rank_group *g)
{
    for (int i = 1; i < g->size; i++)
        if (strcmp(world_host(group_rank(g, i)), world_host(group_rank(g, 0))) != 0)
            return false;
    return true;
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
    s->peers = mem_array((size_t)g->size - 1, sizeof *s->peers);
    s->left = mem_array((size_t)slices->n_units, sizeof *s->left);
    if (s->peers == NULL || s->left == NULL)
        rc = ERR_NOMEM;
    const bool threaded = world_threaded() && !share_a_host(g);
    if (rc == 0 && threaded)
        rc = thread_start(&s->thread, serve, s);
    s->started = rc == 0 && threaded;
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
    mem_free(s->peers);
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
