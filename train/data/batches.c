/*
 * Two slots: the caller has one batch while a thread prepares the next in the other, slots[next].
 * That slot goes back and forth under the lock:
 *
 *                   request_slot                         prepare_batches
 *   the caller's  ---------------> work: the thread's  -------------------> the caller's
 *   (work false)                                                            (a batch, or s->rc)
 *
 * Only while `work` is set does the thread touch slots[next], the cursor, the scratch and the
 * sources' orders; whoever wants to change what is prepared (batches_seek, replace_draws) waits
 * until it is not, and requests the slot anew. `given` counts what the caller has had: what was
 * prepared ahead is not in it, so that a checkpoint never skips a batch.
 */
#include "train/data/batches.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "model/base/thread.h"
#include "train/data/permutation.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE_BYTES = 512 };

/* One batch, prepared or being so. */
struct prepared_batch {
    token_id *ids, *labels; /* [batch,length]; owned */
    uint64_t first;         /* the number of its first window */
    int rc;
    char sentence[SENTENCE_BYTES]; /* of the failure: errors are kept by thread */
};

/* A run of the stream that has windows. */
struct window_source {
    uint64_t first, n_tokens, windows;
    const char *name; /* for sentences; borrowed */
    /* The preparing thread's: an epoch, its order, and by how much its windows begin later. */
    uint64_t epoch, later;
    struct permutation order;
};

struct batches {
    const struct dataset *data;
    int batch, length;
    uint64_t stride, seed, given;
    bool shuffle, shift;
    struct window_source *sources; /* [n_sources]; owned */
    int n_sources;
    struct draws *draws;       /* NULL: one source without a mixture, or not planned yet */
    struct draw_cursor cursor; /* the preparing thread's */
    token_id *scratch;         /* [length + 1]; the preparing thread's */
    struct prepared_batch slots[2];
    int next; /* the slot that is, or will be, prepared; the caller has the other */
    /* Under the lock: `work` belongs to the thread while it is set. */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started, work, stop;
};

/* The source that window `number` of the run is from, and in *number which of that source's. */
static int find_source(struct batches *b, uint64_t *number)
{
    if (b->draws == NULL)
        return 0;
    if (b->cursor.window != *number)
        draw_cursor_move(b->draws, &b->cursor, *number);
    return draw_cursor_next(b->draws, &b->cursor, number);
}

/* The permutations of sources are those of epochs that no run reaches, and what windows are shifted
 * by is the first element of another one. */
static void begin_epoch(struct batches *b, int source, uint64_t epoch)
{
    struct window_source *s = &b->sources[source];
    const uint64_t stream = epoch | (uint64_t)source << 56;
    struct permutation shifts;
    permutation_init(&s->order, s->windows, b->seed, stream);
    permutation_init(&shifts, b->stride, b->seed, ~stream);
    s->later = b->shift && epoch > 0 ? permutation_at(&shifts, 0) : 0;
    s->epoch = epoch;
}

/* Where a window of this epoch begins. */
static uint64_t window_start(const struct batches *b, const struct window_source *s,
                             uint64_t window)
{
    const uint64_t start = window * b->stride + s->later,
                   last = s->n_tokens - 1 - (uint64_t)b->length;
    return s->later > 0 && start > last ? last : start;
}

static void drop_label(void *labels, size_t i)
{
    ((token_id *)labels)[i] = LABEL_NONE;
}

/* ids and labels of one window; those behind the source's end, and prompts, have no labels. */
static int read_window(struct batches *b, token_id *ids, token_id *labels, uint64_t number)
{
    const int source = find_source(b, &number);
    struct window_source *s = &b->sources[source];
    uint64_t epoch = number / s->windows, window = number % s->windows;
    if (epoch != s->epoch)
        begin_epoch(b, source, epoch);
    if (b->shuffle)
        window = permutation_at(&s->order, window);
    uint64_t start = window_start(b, s, window), left = s->n_tokens - start;
    size_t n = left <= (uint64_t)b->length ? (size_t)left - 1 : (size_t)b->length;
    int rc = n == 0 ? 0 : dataset_read(b->data, b->scratch, s->first + start, n + 1);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < (size_t)b->length; i++) {
        ids[i] = i < n ? b->scratch[i] : 0;
        labels[i] = i < n ? b->scratch[i + 1] : LABEL_NONE;
    }
    dataset_prompts(b->data, s->first + start + 1, n, drop_label, labels);
    return 0;
}

static void prepare_slot(struct batches *b, struct prepared_batch *s)
{
    const struct profile_mark begun = profile_loader_begin();
    s->rc = 0;
    for (int i = 0; i < b->batch && s->rc == 0; i++) {
        size_t at = (size_t)i * (size_t)b->length;
        s->rc = read_window(b, s->ids + at, s->labels + at, s->first + (uint64_t)i);
    }
    if (s->rc != 0)
        snprintf(s->sentence, sizeof s->sentence, "%s", err_text());
    profile_loader_end(begun, SPAN_PREPARE);
}

static void *prepare_batches(void *arg)
{
    struct batches *b = arg;
    pthread_mutex_lock(&b->lock);
    for (;;) {
        while (!b->work && !b->stop)
            pthread_cond_wait(&b->changed, &b->lock);
        if (b->stop)
            break;
        pthread_mutex_unlock(&b->lock);
        prepare_slot(b, &b->slots[b->next]);
        pthread_mutex_lock(&b->lock);
        b->work = false;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static int start_thread(struct batches *b)
{
    const int rc = thread_start(&b->thread, prepare_batches, b);
    b->started = rc == 0;
    return rc;
}

/* Wait for the slot in work; the lock is held. */
static void wait_for_slot(struct batches *b)
{
    while (b->work)
        pthread_cond_wait(&b->changed, &b->lock);
}

/* Have the next slot prepared from window `first` on; the lock is held, nothing in work. */
static void request_slot(struct batches *b, uint64_t first)
{
    b->slots[b->next].first = first;
    b->work = true;
    pthread_cond_broadcast(&b->changed);
}

/* Windows that begin at 0, stride, ... and together have every id but the first as a label. */
static uint64_t count_windows(uint64_t n_tokens, uint64_t length, uint64_t stride)
{
    uint64_t labels = n_tokens - 1;
    if (labels <= length)
        return 1;
    return stride > length ? (labels - 1) / stride + 1 : (labels - length - 1) / stride + 2;
}

static int check_sizes(const struct data_config *c, int batch, int length)
{
    if (batch < 1 || length < 1 || length == INT32_MAX || c->stride < 0)
        return err_set(ERR_RANGE,
                       "batches of %d x %d with a stride of %d: expected at least 1 x 1 and 0",
                       batch, length, c->stride);
    return 0;
}

static int check_source(const struct window_source *s, int length)
{
    char shown[200];
    file_show(shown, sizeof shown, s->name);
    if (s->n_tokens < 2)
        return err_set(ERR_RANGE, "%s has %" PRIu64 " tokens for training, expected at least 2",
                       shown, s->n_tokens);
    if (s->n_tokens <= (uint64_t)length)
        return err_set(ERR_RANGE,
                       "%s has %" PRIu64 " tokens for training, expected at least %d for a window "
                       "of %d: more text, or a sequence_length of at most %" PRIu64,
                       shown, s->n_tokens, length + 1, length, s->n_tokens - 1);
    return 0;
}

/* The sources of the mixture, or all of the stream as the one. */
static int find_sources(struct batches *b, const struct dataset *d)
{
    const bool mixed = d->mixture.n > 0;
    b->n_sources = mixed ? d->mixture.n_sources : 1;
    b->sources = mem_array((size_t)b->n_sources, sizeof *b->sources);
    int rc = b->sources == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < b->n_sources && rc == 0; i++) {
        struct window_source *s = &b->sources[i];
        s->name = mixed ? mixture_path(&d->mixture, i) : d->name;
        s->first = mixed ? d->sources[i].first : 0;
        s->n_tokens = mixed ? d->sources[i].n_tokens : d->n_tokens;
        s->epoch = UINT64_MAX;
        if ((rc = check_source(s, b->length)) == 0)
            s->windows = count_windows(s->n_tokens, (uint64_t)b->length, b->stride);
    }
    return rc;
}

int batches_new(struct batches **out, const struct dataset *d, const struct data_config *c,
                int batch, int length)
{
    int rc = check_sizes(c, batch, length);
    if (rc != 0)
        return rc;
    struct batches *b = mem_alloc(sizeof *b);
    if (b == NULL)
        return ERR_NOMEM;
    *b = (struct batches){.data = d, .batch = batch, .length = length, .seed = c->seed};
    b->stride = (uint64_t)(c->stride > 0 ? c->stride : length);
    b->shuffle = c->shuffle;
    b->shift = c->shift;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    rc = find_sources(b, d);
    if (rc == 0 && (b->scratch = mem_array((size_t)length + 1, sizeof *b->scratch)) == NULL)
        rc = ERR_NOMEM;
    for (int i = 0; i < 2 && rc == 0; i++) {
        size_t n = (size_t)batch * (size_t)length;
        b->slots[i].ids = mem_array(n, sizeof(token_id));
        b->slots[i].labels = mem_array(n, sizeof(token_id));
        if (b->slots[i].ids == NULL || b->slots[i].labels == NULL)
            rc = ERR_NOMEM;
    }
    if (rc == 0)
        rc = start_thread(b);
    if (rc != 0) {
        batches_free(b);
        return rc;
    }
    if (d->mixture.n == 0)
        batches_seek(b, 0);
    *out = b;
    return 0;
}

/* Its place taken while nothing is in work; what was prepared by the plan before is left. */
static void replace_draws(struct batches *b, struct draws *fresh)
{
    pthread_mutex_lock(&b->lock);
    wait_for_slot(b);
    draws_free(b->draws);
    b->draws = fresh;
    b->cursor = (struct draw_cursor){0};
    request_slot(b, b->given);
    pthread_mutex_unlock(&b->lock);
}

int batches_plan(struct batches *b, int64_t n_steps, int per_step)
{
    const struct mixture *m = &b->data->mixture;
    struct draws *fresh = NULL;
    uint64_t windows[MIXTURE_MAX];
    if (m->n == 0)
        return 0;
    for (int i = 0; i < b->n_sources; i++)
        windows[i] = b->sources[i].windows;
    int rc = draws_new(&fresh, m, windows, n_steps, (uint64_t)per_step);
    if (rc == 0 && b->draws != NULL && !draws_agree(b->draws, fresh, b->given))
        rc = err_set(ERR_MISMATCH, "the run cannot become longer or shorter: FROM..UNTIL of its "
                                   "sources would move within the steps already taken");
    if (rc != 0) {
        draws_free(fresh);
        return rc;
    }
    replace_draws(b, fresh);
    return 0;
}

void batches_free(struct batches *b)
{
    if (b == NULL)
        return;
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    if (b->started)
        pthread_join(b->thread, NULL);
    for (int i = 0; i < 2; i++) {
        mem_free(b->slots[i].ids);
        mem_free(b->slots[i].labels);
    }
    mem_free(b->scratch);
    mem_free(b->sources);
    draws_free(b->draws);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    mem_free(b);
}

uint64_t batches_per_epoch(const struct batches *b)
{
    uint64_t n = 0;
    for (int i = 0; i < b->n_sources; i++)
        n += b->sources[i].windows;
    return n;
}

uint64_t batches_of_source(const struct batches *b, int source)
{
    return b->sources[source].windows;
}

const struct draws *batches_draws(const struct batches *b)
{
    return b->draws;
}

uint64_t batches_given(const struct batches *b)
{
    return b->given;
}

void batches_seek(struct batches *b, uint64_t n)
{
    pthread_mutex_lock(&b->lock);
    wait_for_slot(b);
    b->given = n;
    request_slot(b, n);
    pthread_mutex_unlock(&b->lock);
}

int batches_next(struct batches *b, const token_id **ids, const token_id **labels)
{
    pthread_mutex_lock(&b->lock);
    wait_for_slot(b);
    struct prepared_batch *s = &b->slots[b->next];
    int rc = s->rc;
    if (rc != 0) {
        err_set(rc, "%s", s->sentence);
        request_slot(b, b->given);
    } else {
        *ids = s->ids;
        *labels = s->labels;
        b->given += (uint64_t)b->batch;
        b->next = 1 - b->next;
        request_slot(b, b->given);
    }
    pthread_mutex_unlock(&b->lock);
    return rc;
}
