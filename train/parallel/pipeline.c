#include "train/parallel/pipeline.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdbool.h>

static const int64_t NEVER = INT64_MAX;

/* Micro-batches first[i] to first[i + 1] - 1 are a group. */
struct groups {
    int *first; /* [n + 1] */
    int n;
};

/* The next job of a kind: chunk by chunk through a group. */
struct cursor {
    int group, chunk, micro;
};

/* How far a stage is. */
struct worker {
    int64_t now, busy;
    int live, most; /* jobs forward that wait for their backward, and how many may */
    struct cursor forward, backward;
    struct pipeline_job next; /* what it can begin first */
};

/* How far a chunk is. */
struct chunk_progress {
    int stage, chunk; /* which it is */
    int begun, ended; /* micro-batches */
    int most;         /* of these on their way, so far */
};

struct simulation {
    const struct pipeline *p;
    bool eager; /* a stage takes whichever chunk can go on, and not group by group */
    struct groups forwards, backwards;
    struct worker *workers;        /* [stages] */
    int64_t *next_at;              /* [stages], when each can begin something; NEVER: nothing yet */
    struct chunk_progress *places; /* [chunk_ring_size] */
    int64_t *forward, *backward;   /* [places][n_micro], when each was done; -1: not yet */
    int64_t *head;                 /* [n_micro] */
    int heads;
};

/* ---- groups ---- */

/* n, each of `unit` micro-batches, in even groups of at least `least`. */
static void divide_evenly(struct groups *g, int begin, int n, int least, int unit)
{
    const int parts = n / least > 1 ? n / least : 1;
    for (int i = 0; i < parts; i++)
        g->first[g->n++] = (begin + (int)((long)n * i / parts)) * unit;
    g->first[g->n] = (begin + n) * unit;
}

/*
 * Backwards of two blocks do not mix. Forwards may: a block of fewer micro-batches than there are
 * stages goes forward together with those behind it. A group forward is one or more groups
 * backward, so whoever has begun one can end it.
 */
static void find_groups(struct simulation *s)
{
    const struct pipeline *p = s->p;
    const int of_block = p->of_block, n_blocks = p->n_micro / of_block,
              wide = p->ring.stages - chunk_ring_skips(&p->ring);
    for (int i = 0; i < n_blocks; i++)
        divide_evenly(&s->backwards, i * of_block, of_block, of_block < wide ? of_block : wide, 1);
    if (of_block < wide)
        divide_evenly(&s->forwards, 0, n_blocks, (wide + of_block - 1) / of_block, of_block);
    else
        for (int i = 0; i < n_blocks; i++)
            divide_evenly(&s->forwards, i * of_block, of_block, wide, 1);
}

static int largest_group(const struct groups *g)
{
    int most = 0;
    for (int i = 0; i < g->n; i++)
        if (g->first[i + 1] - g->first[i] > most)
            most = g->first[i + 1] - g->first[i];
    return most;
}

/* As many as keep the stages behind it busy; of several chunks no fewer than come before the first
 * backward, or all would wait. */
static int find_most(const struct simulation *s, int stage)
{
    const struct chunk_ring *r = &s->p->ring;
    const int group = largest_group(&s->forwards);
    if (r->chunks == 1)
        return r->stages == 1 ? 1 : r->stages - stage + 1;
    if (chunk_ring_chunks(r, stage) == 1)
        return 2 * group;
    return 2 * (r->stages - stage - 1) + (r->chunks - 1) * group + 2;
}

/* From the chunk `from` on, up to `to`. */
static void move_cursor(struct cursor *c, const struct groups *g, int from, int to)
{
    if (++c->micro < g->first[c->group + 1])
        return;
    if (c->chunk == to) {
        c->group++;
        c->chunk = from;
    } else {
        c->chunk += from < to ? 1 : -1;
    }
    c->micro = g->first[c->group];
}

/* ---- the clock ---- */

static int64_t *done_at(const struct simulation *s, int64_t *times, int place, int micro)
{
    return &times[(size_t)place * (size_t)s->p->n_micro + (size_t)micro];
}

/* Whether it is the chunk's turn; and in no groups, whether there is room for one more: as many as
 * there are chunks behind it and the head. */
static bool may_begin(const struct simulation *s, int stage, int chunk, int place)
{
    const struct worker *w = &s->workers[stage];
    const struct chunk_progress *g = &s->places[place];
    if (s->eager)
        return g->begun - g->ended < chunk_ring_size(&s->p->ring) - place + 1;
    return w->forward.group < s->forwards.n && w->forward.chunk == chunk && w->live < w->most;
}

static bool may_end(const struct simulation *s, int stage, int chunk)
{
    const struct cursor *c = &s->workers[stage].backward;
    return s->eager || (c->group < s->backwards.n && c->chunk == chunk);
}

/* When a chunk's next job of a kind can begin; -1: not known yet. */
static int64_t forward_ready(const struct simulation *s, int stage, int place, int micro)
{
    if (!may_begin(s, stage, s->places[place].chunk, place))
        return -1;
    return place == 0 ? 0 : *done_at(s, s->forward, place - 1, micro);
}

static int64_t head_ready(const struct simulation *s, int micro)
{
    const int before = micro / s->p->of_block * s->p->of_block;
    if (s->places[0].ended < before)
        return -1;
    return *done_at(s, s->forward, chunk_ring_size(&s->p->ring) - 1, micro);
}

static int64_t backward_ready(const struct simulation *s, int stage, int place, int micro)
{
    if (!may_end(s, stage, s->places[place].chunk))
        return -1;
    return place == chunk_ring_size(&s->p->ring) - 1 ? s->head[micro]
                                                     : *done_at(s, s->backward, place + 1, micro);
}

static int64_t job_ready(const struct simulation *s, int place, const struct pipeline_job *j)
{
    if (j->micro == s->p->n_micro)
        return -1;
    return j->work == PIPELINE_HEAD      ? head_ready(s, j->micro)
           : j->work == PIPELINE_FORWARD ? forward_ready(s, j->stage, place, j->micro)
                                         : backward_ready(s, j->stage, place, j->micro);
}

/* Whether a comes before b, of one stage and time: what others wait for, backwards last; of a kind
 * micro-batches in groups, and the chunk that is behind in the order of the model last forward, and
 * first backward. */
static bool comes_first(const struct simulation *s, const struct pipeline_job *a,
                        const struct pipeline_job *b)
{
    static const int turn[] = {
        [PIPELINE_HEAD] = 0, [PIPELINE_FORWARD] = 1, [PIPELINE_BACKWARD] = 2};
    if (a->work != b->work)
        return turn[a->work] < turn[b->work];
    const int wide = s->p->ring.stages, group = a->micro / wide, other = b->micro / wide;
    if (group != other)
        return group < other;
    return a->work == PIPELINE_FORWARD ? a->chunk < b->chunk : a->chunk > b->chunk;
}

/* Makes a place's next job of a kind what its stage does next, if it can begin first. */
static void consider_job(struct simulation *s, int place, enum pipeline_work work)
{
    const struct chunk_progress *g = &s->places[place];
    struct worker *w = &s->workers[g->stage];
    int64_t *next_at = &s->next_at[g->stage];
    const int micro = work == PIPELINE_HEAD      ? s->heads
                      : work == PIPELINE_FORWARD ? g->begun
                                                 : g->ended;
    const struct pipeline_job j = {work, g->chunk, micro, g->stage};
    int64_t at = job_ready(s, place, &j);
    if (at < 0)
        return;
    at = at > w->now ? at : w->now;
    if (at > *next_at || (at == *next_at && !comes_first(s, &j, &w->next)))
        return;
    *next_at = at;
    w->next = j;
}

/* The job that a stage can begin first. Of groups it is one chunk's turn. */
static void find_next(struct simulation *s, int stage)
{
    const struct chunk_ring *r = &s->p->ring;
    const struct worker *w = &s->workers[stage];
    s->next_at[stage] = NEVER;
    if (stage == 0)
        consider_job(s, 0, PIPELINE_HEAD);
    if (!s->eager) {
        consider_job(s, chunk_ring_place(r, stage, w->forward.chunk), PIPELINE_FORWARD);
        consider_job(s, chunk_ring_place(r, stage, w->backward.chunk), PIPELINE_BACKWARD);
        return;
    }
    for (int i = 0; i < chunk_ring_chunks(r, stage); i++) {
        consider_job(s, chunk_ring_place(r, stage, i), PIPELINE_FORWARD);
        consider_job(s, chunk_ring_place(r, stage, i), PIPELINE_BACKWARD);
    }
}

static void do_job(struct simulation *s, int stage, const struct pipeline_job *j, int64_t at)
{
    struct worker *w = &s->workers[stage];
    const int place = chunk_ring_place(&s->p->ring, stage, j->chunk),
              last = chunk_ring_chunks(&s->p->ring, stage) - 1;
    struct chunk_progress *g = &s->places[place];
    const int64_t forward = s->p->forward[place], cost = j->work == PIPELINE_HEAD ? s->p->head
                                                         : j->work == PIPELINE_FORWARD
                                                             ? forward
                                                             : 2 * forward;
    w->now = at + cost;
    w->busy += cost;
    switch (j->work) {
    case PIPELINE_HEAD:
        s->head[s->heads++] = w->now;
        break;
    case PIPELINE_FORWARD:
        *done_at(s, s->forward, place, j->micro) = w->now;
        w->live++;
        if (++g->begun - g->ended > g->most)
            g->most = g->begun - g->ended;
        if (!s->eager)
            move_cursor(&w->forward, &s->forwards, 0, last);
        break;
    case PIPELINE_BACKWARD:
        *done_at(s, s->backward, place, j->micro) = w->now;
        w->live--;
        g->ended++;
        if (!s->eager)
            move_cursor(&w->backward, &s->backwards, last, 0);
        break;
    }
}

/* The job that needs what one made may be what its stage does next. */
static void consider_following(struct simulation *s, int place, enum pipeline_work work)
{
    const int last = chunk_ring_size(&s->p->ring) - 1;
    switch (work) {
    case PIPELINE_HEAD:
        consider_job(s, last, PIPELINE_BACKWARD);
        break;
    case PIPELINE_FORWARD:
        if (place == last)
            consider_job(s, 0, PIPELINE_HEAD);
        else
            consider_job(s, place + 1, PIPELINE_FORWARD);
        break;
    case PIPELINE_BACKWARD:
        if (place > 0)
            consider_job(s, place - 1, PIPELINE_BACKWARD);
        break;
    }
}

/* Until all is done: always the job that can begin first, of the first stage that has one. */
static int simulate(struct simulation *s, struct pipeline_job *jobs, int stage)
{
    const int stages = s->p->ring.stages;
    int n = 0;
    for (int i = 0; i < stages; i++)
        find_next(s, i);
    for (;;) {
        int of = 0;
        for (int i = 1; i < stages; i++)
            if (s->next_at[i] < s->next_at[of])
                of = i;
        if (s->next_at[of] == NEVER)
            return n;
        const struct pipeline_job first = s->workers[of].next;
        do_job(s, of, &first, s->next_at[of]);
        find_next(s, of);
        consider_following(s, chunk_ring_place(&s->p->ring, of, first.chunk), first.work);
        if (of == stage || stage == PIPELINE_ALL)
            jobs[n++] = first;
    }
}

/* When the last stage is done; and the share of this time in which they are not at work. */
static int64_t find_end(const struct simulation *s, double *idle)
{
    const int stages = s->p->ring.stages;
    int64_t end = 0;
    double busy = 0;
    for (int i = 0; i < stages; i++) {
        end = s->workers[i].now > end ? s->workers[i].now : end;
        busy += (double)s->workers[i].busy;
    }
    *idle = end > 0 ? 1 - busy / stages / (double)end : 0;
    return end;
}

/* ---- memory ---- */

static bool allocate_simulation(struct simulation *s)
{
    const size_t stages = (size_t)s->p->ring.stages, micro = (size_t)s->p->n_micro,
                 places = (size_t)chunk_ring_size(&s->p->ring), times = places * micro;
    s->workers = mem_array(stages, sizeof *s->workers);
    s->next_at = mem_array(stages, sizeof *s->next_at);
    s->places = mem_array(places, sizeof *s->places);
    s->forwards.first = mem_array(micro + 1, sizeof *s->forwards.first);
    s->backwards.first = mem_array(micro + 1, sizeof *s->backwards.first);
    s->forward = mem_array(2 * times + micro, sizeof *s->forward);
    if (s->workers == NULL || s->next_at == NULL || s->places == NULL ||
        s->forwards.first == NULL || s->backwards.first == NULL || s->forward == NULL)
        return false;
    s->backward = s->forward + times;
    s->head = s->backward + times;
    for (size_t i = 0; i < 2 * times + micro; i++)
        s->forward[i] = -1;
    for (int i = 0; i < chunk_ring_size(&s->p->ring); i++) {
        s->places[i].stage = chunk_ring_stage(&s->p->ring, i);
        s->places[i].chunk = chunk_ring_chunk(&s->p->ring, i);
    }
    return true;
}

static void release_simulation(struct simulation *s)
{
    mem_free(s->workers);
    mem_free(s->next_at);
    mem_free(s->places);
    mem_free(s->forwards.first);
    mem_free(s->backwards.first);
    mem_free(s->forward);
}

static bool allocate_plan(struct pipeline_plan *out, const struct pipeline *p, int stage)
{
    const size_t chunks = (size_t)p->ring.chunks,
                 places = stage == PIPELINE_ALL ? (size_t)chunk_ring_size(&p->ring) : chunks;
    out->jobs = mem_array((2 * places + 1) * (size_t)p->n_micro, sizeof *out->jobs);
    out->slots = mem_array((size_t)p->ring.stages * chunks, sizeof *out->slots);
    return out->jobs != NULL && out->slots != NULL;
}

/* In groups or not; *end is when. */
static int plan_order(struct pipeline_plan *out, int64_t *end, const struct pipeline *p, int stage,
                      bool eager)
{
    struct simulation s = {.p = p, .eager = eager};
    *out = (struct pipeline_plan){0};
    const bool made = allocate_simulation(&s) && allocate_plan(out, p, stage);
    if (made) {
        find_groups(&s);
        for (int i = 0; i < p->ring.stages; i++) {
            s.workers[i].most = find_most(&s, i);
            s.workers[i].backward.chunk = chunk_ring_chunks(&p->ring, i) - 1;
        }
        out->n_jobs = simulate(&s, out->jobs, stage);
        *end = find_end(&s, &out->idle);
        for (int i = 0; i < chunk_ring_size(&p->ring); i++)
            out->slots[chunk_ring_stage(&p->ring, i) * p->ring.chunks +
                       chunk_ring_chunk(&p->ring, i)] = s.places[i].most;
    } else {
        pipeline_plan_release(out);
    }
    release_simulation(&s);
    return made ? 0 : ERR_NOMEM;
}

/* No order ends earlier: a stage can begin once its first chunk's forward comes, and what it then
 * has to do ends with that chunk's last backward, which the stages before it wait for. */
static int64_t earliest_end(const struct pipeline *p)
{
    int64_t before = 0, most = 0;
    for (int i = 0; i < p->ring.stages; i++) {
        int64_t micro = i == 0 ? p->head : 0;
        for (int chunk = 0; chunk < chunk_ring_chunks(&p->ring, i); chunk++)
            micro += 3 * p->forward[chunk_ring_place(&p->ring, i, chunk)];
        const int64_t end = 3 * before + micro * p->n_micro;
        most = end > most ? end : most;
        before += p->forward[i];
    }
    return most;
}

/* Groups take less memory; without them a head or stages of other lengths than the rest may be
 * waited for less. */
int pipeline_plan(struct pipeline_plan *out, const struct pipeline *p, int stage)
{
    enum { WORTH = 20 }; /* a part of the time */
    struct pipeline_plan other;
    int64_t end, eager_end;
    int rc = plan_order(out, &end, p, stage, false);
    if (rc != 0 || p->ring.chunks == 1 || earliest_end(p) >= end - end / WORTH)
        return rc;
    if ((rc = plan_order(&other, &eager_end, p, stage, true)) != 0) {
        pipeline_plan_release(out);
        return rc;
    }
    if (eager_end < end - end / WORTH) {
        const struct pipeline_plan grouped = *out;
        *out = other;
        other = grouped;
    }
    pipeline_plan_release(&other);
    return 0;
}

void pipeline_plan_release(struct pipeline_plan *plan)
{
    mem_free(plan->jobs);
    mem_free(plan->slots);
    *plan = (struct pipeline_plan){0};
}
