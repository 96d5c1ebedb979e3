/*
 * A ring of slots, in each a block: the caller writes it while it is free, some thread unpacks it,
 * the caller takes it. Only the state goes under the lock: who has set it to BUSY, or found it
 * DONE, has the slot.
 */
#include "train/data/bunzip_team.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/thread.h"

#include <archive.h>
#include <archive_entry.h>
#include <pthread.h>

/* Of a slot's text: bzip2 -9 takes 900 kB at once, and what it makes of runs is shorter still. */
enum { HELD_MOST = 8 << 20 };

enum slot_state { SLOT_FREE, SLOT_WAITS, SLOT_BUSY, SLOT_DONE };

struct bunzip_slot {
    enum slot_state state;
    struct buf packed, text;
    enum bunzip_result result;
};

struct bunzip_team {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct bunzip_slot *slots; /* [room], from `first` on; owned */
    int room, first, n;
    pthread_t *threads; /* [n_threads]; owned */
    int n_threads;
    bool quit;
};

/* ---- a block ---- */

struct packed_block {
    const struct buf *packed;
    int reads;
};

/* All at once, and then its end. */
static la_ssize_t read_packed(struct archive *a, void *user, const void **bytes)
{
    struct packed_block *b = user;
    (void)a;
    *bytes = b->packed->data;
    return b->reads++ == 0 ? (la_ssize_t)b->packed->n : 0;
}

static enum bunzip_result read_text(struct buf *text, struct archive *a, size_t most)
{
    enum { AT_ONCE = 1 << 18 };
    struct archive_entry *e;
    if (archive_read_next_header(a, &e) != ARCHIVE_OK)
        return BUNZIP_DAMAGED;
    for (;;) {
        if (buf_reserve(text, AT_ONCE) != 0)
            return BUNZIP_NO_MEMORY;
        const la_ssize_t n = archive_read_data(a, text->data + text->n, AT_ONCE);
        if (n <= 0)
            return n == 0 ? BUNZIP_WHOLE : BUNZIP_DAMAGED;
        text->n += (size_t)n;
        if (text->n > most)
            return BUNZIP_LONG;
    }
}

enum bunzip_result bunzip_block(struct buf *text, const struct buf *packed, size_t most)
{
    struct packed_block b = {packed, 0};
    struct archive *a = archive_read_new();
    enum bunzip_result r = BUNZIP_DAMAGED;
    text->n = 0;
    if (a == NULL)
        return BUNZIP_NO_MEMORY;
    archive_read_support_filter_bzip2(a);
    archive_read_support_format_raw(a);
    if (archive_read_open(a, &b, NULL, read_packed, NULL) == ARCHIVE_OK)
        r = read_text(text, a, most);
    archive_read_free(a);
    return r == BUNZIP_DAMAGED && b.reads > 1 ? BUNZIP_CUT : r;
}

/* ---- threads ---- */

static struct bunzip_slot *slot_of(const struct bunzip_team *t, int k)
{
    return &t->slots[(t->first + k) % t->room];
}

/* The first block that nobody has begun; the lock is held. */
static struct bunzip_slot *find_waiting(const struct bunzip_team *t)
{
    for (int k = 0; k < t->n; k++)
        if (slot_of(t, k)->state == SLOT_WAITS)
            return slot_of(t, k);
    return NULL;
}

/* The lock is held, but for the work. */
static void work_on(struct bunzip_team *t, struct bunzip_slot *s)
{
    s->state = SLOT_BUSY;
    pthread_mutex_unlock(&t->lock);
    s->result = bunzip_block(&s->text, &s->packed, HELD_MOST);
    if (s->result == BUNZIP_LONG)
        buf_release(&s->text);
    pthread_mutex_lock(&t->lock);
    s->state = SLOT_DONE;
    pthread_cond_broadcast(&t->done);
}

static void *unpack_blocks(void *arg)
{
    struct bunzip_team *t = arg;
    pthread_mutex_lock(&t->lock);
    while (!t->quit) {
        struct bunzip_slot *s = find_waiting(t);
        if (s != NULL)
            work_on(t, s);
        else
            pthread_cond_wait(&t->work, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* As many as there can be: the caller works too. */
static void start_threads(struct bunzip_team *t, int n)
{
    while (t->n_threads < n && thread_start(&t->threads[t->n_threads], unpack_blocks, t) == 0)
        t->n_threads++;
}

struct bunzip_team *bunzip_team_new(int n_threads, int room)
{
    struct bunzip_team *t = mem_array(1, sizeof *t);
    if (t == NULL)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->work, NULL);
    pthread_cond_init(&t->done, NULL);
    t->room = room;
    t->slots = mem_array((size_t)room, sizeof *t->slots);
    t->threads = mem_array((size_t)n_threads + 1, sizeof *t->threads);
    if (t->slots != NULL && t->threads != NULL) {
        start_threads(t, n_threads);
        return t;
    }
    bunzip_team_free(t);
    return NULL;
}

void bunzip_team_free(struct bunzip_team *t)
{
    if (t == NULL)
        return;
    pthread_mutex_lock(&t->lock);
    t->quit = true;
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
    for (int i = 0; i < t->n_threads; i++)
        pthread_join(t->threads[i], NULL);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->work);
    pthread_cond_destroy(&t->done);
    for (int i = 0; i < t->room && t->slots != NULL; i++) {
        buf_release(&t->slots[i].packed);
        buf_release(&t->slots[i].text);
    }
    mem_free(t->slots);
    mem_free(t->threads);
    mem_free(t);
}

/* ---- the caller ---- */

int bunzip_team_count(const struct bunzip_team *t)
{
    return t->n;
}

bool bunzip_team_is_full(const struct bunzip_team *t)
{
    return t->n == t->room;
}

struct buf *bunzip_team_next(struct bunzip_team *t)
{
    return &slot_of(t, t->n)->packed;
}

void bunzip_team_give(struct bunzip_team *t)
{
    pthread_mutex_lock(&t->lock);
    slot_of(t, t->n++)->state = SLOT_WAITS;
    pthread_cond_signal(&t->work);
    pthread_mutex_unlock(&t->lock);
}

/* Until the first block is done; the lock is held. */
static void wait_for_first(struct bunzip_team *t)
{
    while (slot_of(t, 0)->state != SLOT_DONE) {
        struct bunzip_slot *s = find_waiting(t);
        if (s != NULL)
            work_on(t, s);
        else
            pthread_cond_wait(&t->done, &t->lock);
    }
}

/* One that was never begun is not begun for this. */
static void drop_first(struct bunzip_team *t)
{
    while (slot_of(t, 0)->state == SLOT_BUSY)
        pthread_cond_wait(&t->done, &t->lock);
    slot_of(t, 0)->state = SLOT_FREE;
    t->first = (t->first + 1) % t->room;
    t->n--;
}

enum bunzip_result bunzip_team_take(struct bunzip_team *t, struct buf *out)
{
    pthread_mutex_lock(&t->lock);
    wait_for_first(t);
    struct bunzip_slot *s = slot_of(t, 0);
    const struct buf text = s->text;
    const enum bunzip_result result = s->result;
    s->text = *out;
    *out = text;
    drop_first(t);
    pthread_mutex_unlock(&t->lock);
    return result;
}

void bunzip_team_drop(struct bunzip_team *t, int n)
{
    pthread_mutex_lock(&t->lock);
    while (n-- > 0 && t->n > 0)
        drop_first(t);
    pthread_mutex_unlock(&t->lock);
}
