#include "train/parallel/pipeline.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdbool.h>

/* How far a stage is. */
struct clocked {
    int64_t now;
    int done[PIPELINE_BACKWARD + 1]; /* micro-batches, of each kind of work */
    int64_t *forward, *backward;     /* [n_micro], when each was done */
};

struct simulation {
    const struct pipeline *p;
    struct clocked *stages; /* [stages] */
    int64_t *head;          /* [n_micro], when each was done */
};

int pipeline_in_flight(int stages, int n_micro, int stage)
{
    const int most = stages == 1 ? 1 : stages - stage + 1;
    return most < n_micro ? most : n_micro;
}

static bool is_done(const struct simulation *s, int stage, enum pipeline_work work, int micro)
{
    return micro < s->stages[stage].done[work];
}

/* When a forward can begin; -1: not known yet. */
static int64_t forward_ready(const struct simulation *s, int stage, int micro)
{
    const struct clocked *c = &s->stages[stage];
    const int most = pipeline_in_flight(s->p->stages, s->p->n_micro, stage);
    if (micro - c->done[PIPELINE_BACKWARD] >= most)
        return -1;
    if (stage == 0)
        return 0;
    return is_done(s, stage - 1, PIPELINE_FORWARD, micro) ? s->stages[stage - 1].forward[micro]
                                                          : -1;
}

static int64_t head_ready(const struct simulation *s, int stage, int micro)
{
    const int last = s->p->stages - 1, before = micro / s->p->of_block * s->p->of_block;
    if (stage > 0 || !is_done(s, last, PIPELINE_FORWARD, micro) ||
        s->stages[0].done[PIPELINE_BACKWARD] < before)
        return -1;
    return s->stages[last].forward[micro];
}

static int64_t backward_ready(const struct simulation *s, int stage, int micro)
{
    if (stage == s->p->stages - 1)
        return is_done(s, 0, PIPELINE_HEAD, micro) ? s->head[micro] : -1;
    return is_done(s, stage + 1, PIPELINE_BACKWARD, micro) ? s->stages[stage + 1].backward[micro]
                                                           : -1;
}

/* The job that a stage can begin first; of those that it can begin at once what others wait for,
 * backwards last. Returns when, -1: none. */
static int64_t next_job(const struct simulation *s, int stage, struct pipeline_job *out)
{
    static int64_t (*const ready[])(const struct simulation *s, int stage,
                                    int micro) = {forward_ready, head_ready, backward_ready};
    static const enum pipeline_work works[] = {PIPELINE_HEAD, PIPELINE_FORWARD, PIPELINE_BACKWARD};
    const struct clocked *c = &s->stages[stage];
    int64_t first = -1;
    for (int i = 0; i < 3; i++) {
        const enum pipeline_work work = works[i];
        const int micro = c->done[work];
        if (micro == s->p->n_micro)
            continue;
        int64_t at = ready[work](s, stage, micro);
        if (at < 0)
            continue;
        at = at > c->now ? at : c->now;
        if (first >= 0 && at >= first)
            continue;
        first = at;
        *out = (struct pipeline_job){work, micro};
    }
    return first;
}

static void do_job(struct simulation *s, int stage, const struct pipeline_job *j, int64_t at)
{
    struct clocked *c = &s->stages[stage];
    const int64_t forward = s->p->forward[stage];
    c->now = at + (j->work == PIPELINE_HEAD      ? s->p->head
                   : j->work == PIPELINE_FORWARD ? forward
                                                 : 2 * forward);
    c->done[j->work]++;
    if (j->work == PIPELINE_HEAD)
        s->head[j->micro] = c->now;
    else
        (j->work == PIPELINE_FORWARD ? c->forward : c->backward)[j->micro] = c->now;
}

/* Until all is done: always the job that can begin first, of the first stage that has one. */
static int simulate(struct simulation *s, struct pipeline_job *jobs, int stage)
{
    int n = 0;
    for (;;) {
        struct pipeline_job first = {0}, one;
        int64_t at = -1;
        int of = 0;
        for (int i = 0; i < s->p->stages; i++) {
            const int64_t begins = next_job(s, i, &one);
            if (begins >= 0 && (at < 0 || begins < at)) {
                at = begins;
                of = i;
                first = one;
            }
        }
        if (at < 0)
            return n;
        do_job(s, of, &first, at);
        if (of == stage)
            jobs[n++] = first;
    }
}

int pipeline_order(struct pipeline_job **out, int *n, const struct pipeline *p, int stage)
{
    const size_t stages = (size_t)p->stages, micro = (size_t)p->n_micro;
    struct simulation s = {.p = p, .stages = mem_array(stages, sizeof *s.stages)};
    int64_t *times = mem_array((2 * stages + 1) * micro, sizeof *times);
    struct pipeline_job *jobs = mem_array(3 * micro, sizeof *jobs);
    const bool made = s.stages != NULL && times != NULL && jobs != NULL;
    if (made) {
        for (size_t i = 0; i < stages; i++) {
            s.stages[i].forward = times + 2 * i * micro;
            s.stages[i].backward = times + (2 * i + 1) * micro;
        }
        s.head = times + 2 * stages * micro;
        *n = simulate(&s, jobs, stage);
    }
    mem_free(s.stages);
    mem_free(times);
    *out = made ? jobs : NULL;
    if (!made)
        mem_free(jobs);
    return made ? 0 : ERR_NOMEM;
}
