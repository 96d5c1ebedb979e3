#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/parallel/jitter.h"
#include "train/parallel/pipeline.h"

#include <math.h>

/* Until when a stage is at work, and its link. */
struct stage_clock {
    double now, busy, sends, receives;
    int jobs;
    struct jitter_moments moments;
};

struct replay {
    const struct pipeline *p;
    const struct pipeline_seconds *s;
    struct stage_clock *stages; /* [stages] */
    double *forward, *backward; /* [places][n_micro], when what a chunk needs is there */
    double *head;               /* [n_micro] */
};

static double *arrival(const struct replay *r, const struct pipeline_job *j)
{
    const size_t place = (size_t)chunk_ring_place(&r->p->ring, j->stage, j->chunk),
                 at = place * (size_t)r->p->n_micro + (size_t)j->micro;
    return j->work == PIPELINE_HEAD      ? &r->head[j->micro]
           : j->work == PIPELINE_FORWARD ? &r->forward[at]
                                         : &r->backward[at];
}

/* Who needs what a job makes. */
static bool find_next(struct pipeline_job *out, const struct pipeline *p,
                      const struct pipeline_job *j)
{
    const struct chunk_ring *ring = &p->ring;
    const int last = chunk_ring_size(ring) - 1;
    int place = chunk_ring_place(ring, j->stage, j->chunk);
    *out = *j;
    if (j->work == PIPELINE_BACKWARD && place == 0)
        return false;
    if (j->work == PIPELINE_FORWARD && place == last) {
        *out = (struct pipeline_job){PIPELINE_HEAD, 0, j->micro, 0};
        return true;
    }
    out->work = j->work == PIPELINE_HEAD ? PIPELINE_BACKWARD : j->work;
    place = j->work == PIPELINE_HEAD ? last : j->work == PIPELINE_FORWARD ? place + 1 : place - 1;
    out->stage = chunk_ring_stage(ring, place);
    out->chunk = chunk_ring_chunk(ring, place);
    return true;
}

static double at_work(const struct replay *r, struct stage_clock *own, int stage, double seconds)
{
    const int job = own->jobs++;
    if (r->s->jitter == 0)
        return seconds;
    return jitter_at(r->s->jitter, jitter_moment(&own->moments, stage, job), seconds);
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

static void replay_job(struct replay *r, const struct pipeline_job *j)
{
    const int place = chunk_ring_place(&r->p->ring, j->stage, j->chunk);
    const double cost = j->work == PIPELINE_HEAD      ? r->s->head
                        : j->work == PIPELINE_FORWARD ? r->s->forward[place]
                                                      : r->s->backward[place];
    struct stage_clock *own = &r->stages[j->stage];
    struct pipeline_job next;
    own->now = later(own->now, *arrival(r, j)) + at_work(r, own, j->stage, cost);
    own->busy += cost;
    if (!find_next(&next, r->p, j))
        return;
    double there = own->now;
    if (next.stage != j->stage) {
        struct stage_clock *other = &r->stages[next.stage];
        there = later(there, later(own->sends, other->receives)) + r->s->message;
        own->sends = other->receives = there;
        there += r->s->latency;
    }
    *arrival(r, &next) = there;
}

/* What a job needs is made by one before it in the list. */
int pipeline_time(struct pipeline_time *out, const struct pipeline *p,
                  const struct pipeline_plan *plan, const struct pipeline_seconds *s)
{
    const size_t micro = (size_t)p->n_micro, times = (size_t)chunk_ring_size(&p->ring) * micro;
    struct replay r = {.p = p, .s = s};
    r.stages = mem_array((size_t)p->ring.stages, sizeof *r.stages);
    r.forward = mem_array(2 * times + micro, sizeof *r.forward);
    *out = (struct pipeline_time){0};
    const bool made = r.stages != NULL && r.forward != NULL;
    if (made) {
        r.backward = r.forward + times;
        r.head = r.backward + times;
        for (int i = 0; i < plan->n_jobs; i++)
            replay_job(&r, &plan->jobs[i]);
        for (int i = 0; i < p->ring.stages; i++) {
            out->all = fmax(out->all, r.stages[i].now);
            out->busy = fmax(out->busy, r.stages[i].busy);
        }
    }
    mem_free(r.stages);
    mem_free(r.forward);
    return made ? 0 : ERR_NOMEM;
}
