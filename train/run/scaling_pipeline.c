#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/run/scaling_parts.h"

#include <math.h>

enum { FILLINGS = 16 /* of a pipeline, in micro-batches: those behind are all alike */ };

/* What a chunk's jobs take, and of that the shards of its stage, if they are several, at work. */
struct chunk_seconds {
    double *forward, *backward; /* [chunk_ring_size] */
    double head;
};

struct chunk_times {
    struct chunk_seconds all, busy;
    double *memory;
    double *sent; /* [chunk_ring_size], bytes of sums that a process sends in a micro-batch */
};

static int allocate_times(struct chunk_times *t, size_t n)
{
    *t = (struct chunk_times){.memory = mem_array(5 * n, sizeof *t->memory)};
    if (t->memory == NULL)
        return ERR_NOMEM;
    t->all = (struct chunk_seconds){.forward = t->memory, .backward = t->memory + n};
    t->busy = (struct chunk_seconds){.forward = t->memory + 2 * n, .backward = t->memory + 3 * n};
    t->sent = t->memory + 4 * n;
    return 0;
}

static void fill_whole(struct chunk_times *t, const struct scaling_work *w, int i, int n)
{
    const double again = w->micro.again / w->shape->n_layer;
    t->all.forward[i] = t->busy.forward[i] = n * w->micro.forward;
    t->all.backward[i] = t->busy.backward[i] = n * (w->micro.layer - w->micro.forward + again);
    t->all.head = t->busy.head = w->micro.head;
}

static int count_layers(const struct layout *l, const struct chunk_ring *ring, int place)
{
    const struct layer_range layers =
        layout_chunk(l, chunk_ring_stage(ring, place), chunk_ring_chunk(ring, place));
    return layers.last - layers.first;
}

static void copy_shards(struct chunk_times *t, int to, int from)
{
    t->all.forward[to] = t->all.forward[from];
    t->all.backward[to] = t->all.backward[from];
    t->busy.forward[to] = t->busy.forward[from];
    t->busy.backward[to] = t->busy.backward[from];
    t->sent[to] = t->sent[from];
}

/* Of a place of the ring. */
static int fill_shards(struct chunk_times *t, const struct scaling_work *w, int i, int n)
{
    const bool ends = i == 0;
    struct shard_time forward, backward, head = {0};
    int rc = scaling_shards(&forward, w, PIPELINE_FORWARD, n, ends);
    if (rc == 0)
        rc = scaling_shards(&backward, w, PIPELINE_BACKWARD, n, ends);
    if (rc == 0 && ends)
        rc = scaling_shards(&head, w, PIPELINE_HEAD, 0, true);
    if (rc != 0)
        return rc;
    t->all.forward[i] = forward.all;
    t->all.backward[i] = backward.all;
    t->busy.forward[i] = forward.busy;
    t->busy.backward[i] = backward.busy;
    if (ends) {
        t->all.head = head.all;
        t->busy.head = head.busy;
    }
    t->sent[i] = forward.sent + backward.sent + head.sent;
    return 0;
}

/* Shards of as many layers take as long, but for the embedding's place, which is the first. */
static int fill_times(struct chunk_times *t, const struct scaling_work *w)
{
    const struct layout *l = &w->l->over;
    const struct chunk_ring ring = layout_ring(l);
    int rc = allocate_times(t, (size_t)chunk_ring_size(&ring));
    for (int i = 0; i < chunk_ring_size(&ring) && rc == 0; i++) {
        const int n = count_layers(l, &ring, i);
        int alike = 1;
        while (alike < i && count_layers(l, &ring, alike) != n)
            alike++;
        if (l->tensor == 1)
            fill_whole(t, w, i, n);
        else if (alike < i)
            copy_shards(t, i, alike);
        else
            rc = fill_shards(t, w, i, n);
    }
    return rc;
}

/* Of the stage that sends most, in a micro-batch. */
static double most_sent(const struct chunk_times *t, const struct chunk_ring *ring)
{
    double most = 0;
    for (int stage = 0; stage < ring->stages; stage++) {
        double sent = 0;
        for (int i = 0; i < chunk_ring_chunks(ring, stage); i++)
            sent += t->sent[chunk_ring_place(ring, stage, i)];
        most = fmax(most, sent);
    }
    return most;
}

/* The same order some times: as it is, without messages, both also with every process slow where it
 * was fast, and of what is at work alone. */
enum { AS_IT_IS, NO_MESSAGES, MIRRORED, WITHOUT_MIRRORED, AT_WORK, WAYS };

/* A step of so many blocks of so many micro-batches. */
static int time_blocks(struct pipeline_time out[WAYS], const struct scaling_work *w,
                       const struct pipeline_seconds s[WAYS], int rounds, int of_block)
{
    const struct pipeline p = {
        .ring = layout_ring(&w->l->over), .n_micro = rounds * of_block, .of_block = of_block};
    struct pipeline_plan plan;
    int rc = layout_plan(&plan, &w->l->over, w->shape, p.n_micro, of_block, PIPELINE_ALL);
    if (rc != 0)
        return rc;
    for (int i = 0; i < WAYS && rc == 0; i++)
        if ((i == MIRRORED || i == WITHOUT_MIRRORED) && s[i].jitter == 0)
            out[i] = out[i - MIRRORED];
        else if (i == AT_WORK && w->l->over.tensor == 1) /* nothing is waited for among shards */
            out[i] = out[NO_MESSAGES];
        else
            rc = pipeline_time(&out[i], &p, &plan, &s[i]);
    pipeline_plan_release(&plan);
    return rc;
}

static void extend_times(struct pipeline_time *of, const struct pipeline_time *more, double times)
{
    for (int i = 0; i < WAYS; i++) {
        of[i].all += (more[i].all - of[i].all) * times;
        of[i].busy += (more[i].busy - of[i].busy) * times;
    }
}

/* Of a step that is much longer than it takes to fill the pipeline the rest is reckoned from how
 * much two more fillings take: first of a block, then of the blocks. */
static int time_block(struct pipeline_time out[WAYS], const struct scaling_work *w,
                      const struct pipeline_seconds s[WAYS], int rounds)
{
    const int few = FILLINGS / 2 * w->l->over.stages, many = 2 * few;
    struct pipeline_time more[WAYS];
    if (w->of_block <= many)
        return time_blocks(out, w, s, rounds, w->of_block);
    int rc = time_blocks(out, w, s, rounds, few);
    if (rc == 0)
        rc = time_blocks(more, w, s, rounds, many);
    if (rc == 0)
        extend_times(out, more, (double)(w->of_block - few) / (many - few));
    return rc;
}

static int time_step(struct pipeline_time out[WAYS], const struct scaling_work *w,
                     const struct pipeline_seconds s[WAYS])
{
    const int filling = (FILLINGS / 2 * w->l->over.stages + w->of_block - 1) / w->of_block,
              few = filling > 2 ? filling : 2, many = 2 * few;
    struct pipeline_time more[WAYS];
    if (w->rounds <= many)
        return time_block(out, w, s, w->rounds);
    int rc = time_block(out, w, s, few);
    if (rc == 0)
        rc = time_block(more, w, s, many);
    if (rc == 0)
        extend_times(out, more, (double)(w->rounds - few) / (many - few));
    return rc;
}

int scaling_pipeline(struct step_time *out, const struct scaling_work *w)
{
    const struct training_section *t = &w->c->training;
    const double bytes = 4.0 * t->micro_batch_size * t->sequence_length * w->shape->n_embd;
    struct pipeline_time found[WAYS];
    struct chunk_times times;
    const struct chunk_ring ring = layout_ring(&w->l->over);
    double sums = 0; /* bytes of them that are sent */
    int rc = fill_times(&times, w);
    if (rc == 0) {
        struct pipeline_seconds s[WAYS];
        sums = most_sent(&times, &ring);
        s[NO_MESSAGES] = (struct pipeline_seconds){
            .forward = times.all.forward, .backward = times.all.backward, .head = times.all.head};
        s[AT_WORK] = (struct pipeline_seconds){.forward = times.busy.forward,
                                               .backward = times.busy.backward,
                                               .head = times.busy.head};
        s[NO_MESSAGES].jitter = w->k->jitter;
        s[AS_IT_IS] = s[NO_MESSAGES];
        s[AS_IT_IS].message = bytes / w->k->link;
        s[AS_IT_IS].latency = w->k->latency_s;
        s[MIRRORED] = s[AS_IT_IS];
        s[WITHOUT_MIRRORED] = s[NO_MESSAGES];
        s[MIRRORED].jitter = s[WITHOUT_MIRRORED].jitter = -w->k->jitter;
        rc = time_step(found, w, s);
    }
    mem_free(times.memory);
    if (rc != 0)
        return rc;
    /* Few jobs may all be fast ones: the mean of both is never below what it is without jitter. */
    const double all = (found[AS_IT_IS].all + found[MIRRORED].all) / 2,
                 unsent = (found[NO_MESSAGES].all + found[WITHOUT_MIRRORED].all) / 2;
    out->compute = found[AT_WORK].busy;
    out->sums = fmax(0, found[NO_MESSAGES].busy - out->compute);
    out->bubble = fmax(0, unsent - found[NO_MESSAGES].busy);
    out->stages = fmax(0, all - unsent);
    /* Forward and back again, of each chunk. */
    out->sent += w->rounds * w->of_block * (2.0 * w->l->over.chunks * bytes + sums);
    return 0;
}
