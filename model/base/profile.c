#include "model/base/profile.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* A category's spans leave the last of a lane's room to the stages, which are fewer. */
enum { MAX_DEPTH = 16, STAGE_SHARE = 8, MIN_EVENTS = 64, DEFAULT_EVENTS = 1 << 19 };
/* What is left of a category behind a barrier or a stage, before the next, is not worth a span. */
static const double LEAST_REST_S = 5e-7;

/* One thread's clock, in cache lines of its own. Time since `since` belongs to category `now`. */
struct stopwatch {
    _Alignas(64) struct profile_lane lane;
    double since;
    enum profile_part now;
    /* The span of the trace that is open, and its work. */
    double span_begin, span_flops, span_bytes;
    enum profile_part span_part;
    bool resumed; /* it goes on with a category from before */
    struct stage {
        double begin;
        int index;
        enum profile_span span;
        enum profile_part part; /* before it */
    } stages[MAX_DEPTH];
    int depth;
};

static struct stopwatch *stopwatches; /* [n_stopwatches]; NULL: off */
static int n_stopwatches, n_team;
static bool tracing;
static double trace_begin;
static struct profile_lane *trace_lanes; /* [n_stopwatches], for what the trace is when it ends */
static double seconds_before[N_PARTS];   /* of a trace, when profile_start came in it */
static _Thread_local struct stopwatch *mine;

/* The data loader's thread may end a stage at any time. */
static pthread_mutex_t loader_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t trace_number; /* of the trace being recorded; odd */

const char *profile_part_name(enum profile_part part)
{
    static const char *const names[N_PARTS] = {
        [PART_REST] = "rest",           [PART_MATRICES] = "matrices",
        [PART_HEAD] = "head",           [PART_ATTENTION] = "attention",
        [PART_LAYERNORM] = "LayerNorm", [PART_ACTIVATION] = "activation",
        [PART_LOSS] = "loss",           [PART_OPTIMIZER] = "optimizer",
        [PART_SAMPLING] = "sampling",   [PART_LOADER] = "loader",
        [PART_FILES] = "files",         [PART_EXCHANGE] = "exchange",
        [PART_WAITS] = "waits"};
    return names[part];
}

const char *profile_span_name(enum profile_span span)
{
    static const char *const names[N_SPANS] = {[SPAN_COMMAND] = "command",
                                               [SPAN_LOAD] = "load",
                                               [SPAN_DATA] = "open data",
                                               [SPAN_STEP] = "step",
                                               [SPAN_PREPARE] = "prepare batch",
                                               [SPAN_BATCH] = "next batch",
                                               [SPAN_OPTIMIZER] = "optimizer step",
                                               [SPAN_EVALUATION] = "evaluation",
                                               [SPAN_CHECKPOINT] = "checkpoint",
                                               [SPAN_PUBLISH] = "publish weights",
                                               [SPAN_FEED] = "feed tokens",
                                               [SPAN_DECODE] = "decode",
                                               [SPAN_PASS] = "pass",
                                               [SPAN_FORWARD] = "forward",
                                               [SPAN_LOSS] = "loss pass",
                                               [SPAN_BACKWARD] = "backward",
                                               [SPAN_SAMPLING] = "sample",
                                               [SPAN_EMBEDDING] = "embedding",
                                               [SPAN_LAYER] = "layer"};
    return names[span];
}

/* ---- recording ---- */

static void record_event(struct profile_lane *l, const struct profile_event *e)
{
    const size_t room = e->span < 0 ? l->max_events - l->max_events / STAGE_SHARE : l->max_events;
    if (l->n_events < room)
        l->events[l->n_events++] = *e;
    else
        l->n_dropped++;
}

/* The time until now is of the category that there was. */
static void close_time(struct stopwatch *w, double now)
{
    w->lane.seconds[w->now] += now - w->since;
    w->since = now;
}

/* The same, and so is the open span of a trace. */
static void close_span(struct stopwatch *w, double now)
{
    close_time(w, now);
    if (w->lane.events == NULL)
        return;
    const bool rest =
        w->resumed && w->span_bytes + w->span_flops == 0 && now - w->span_begin < LEAST_REST_S;
    if (w->span_part != PART_REST && !rest)
        record_event(&w->lane, &(struct profile_event){.begin = w->span_begin,
                                                       .end = now,
                                                       .flops = (float)w->span_flops,
                                                       .bytes = (float)w->span_bytes,
                                                       .index = -1,
                                                       .span = -1,
                                                       .part = (int16_t)w->span_part});
}

static void open_span(struct stopwatch *w, double now, enum profile_part part, bool resumed)
{
    w->now = w->span_part = part;
    w->resumed = resumed;
    w->span_begin = now;
    w->span_flops = w->span_bytes = 0;
}

enum profile_part profile_now(void)
{
    return mine == NULL ? PART_REST : mine->now;
}

enum profile_part profile_set(enum profile_part part)
{
    struct stopwatch *w = mine;
    if (w == NULL)
        return PART_REST;
    const enum profile_part was = w->now;
    const double now = clock_s();
    close_span(w, now);
    open_span(w, now, part, false);
    return was;
}

enum profile_part profile_change(enum profile_part part)
{
    return mine != NULL && mine->now == part ? part : profile_set(part);
}

void profile_resume(enum profile_part part)
{
    if (mine == NULL || mine->now == part)
        return;
    profile_set(part);
    mine->resumed = true;
}

enum profile_part profile_within(enum profile_part part)
{
    struct stopwatch *w = mine;
    if (w == NULL)
        return PART_REST;
    const enum profile_part was = w->now;
    close_time(w, clock_s());
    w->now = part;
    return was;
}

void profile_work(double flops, double bytes)
{
    struct stopwatch *w = mine;
    if (w == NULL)
        return;
    w->lane.flops[w->now] += flops;
    w->lane.bytes[w->now] += bytes;
    w->span_flops += flops;
    w->span_bytes += bytes;
}

void profile_begin(enum profile_span span, int64_t index)
{
    struct stopwatch *w = mine;
    if (w == NULL || w->lane.events == NULL || w->depth++ >= MAX_DEPTH)
        return;
    const double now = clock_s();
    close_span(w, now);
    w->stages[w->depth - 1] = (struct stage){now, (int)index, span, w->now};
    open_span(w, now, w->now, true);
}

void profile_end(void)
{
    struct stopwatch *w = mine;
    if (w == NULL || w->depth == 0 || --w->depth >= MAX_DEPTH)
        return;
    const struct stage *s = &w->stages[w->depth];
    const double now = clock_s();
    close_span(w, now);
    record_event(&w->lane, &(struct profile_event){.begin = s->begin,
                                                   .end = now,
                                                   .index = s->index,
                                                   .span = (int16_t)s->span,
                                                   .part = PART_REST});
    open_span(w, now, s->part, true);
}

static void enter_stopwatch(struct stopwatch *w)
{
    mine = w;
    if (w == NULL)
        return;
    w->since = clock_s();
    w->depth = 0;
    open_span(w, w->since, PART_REST, false);
}

void profile_enter(int thread)
{
    /* A caller that runs the job itself is on the watch already. */
    if (mine == NULL || mine != stopwatches + n_team)
        enter_stopwatch(stopwatches != NULL && thread < n_team ? &stopwatches[thread] : NULL);
}

void profile_leave(void)
{
    profile_set(PART_REST);
    if (mine == NULL || mine != stopwatches + n_team)
        mine = NULL;
}

/* ---- the data loader's thread ---- */

struct profile_mark profile_loader_begin(void)
{
    struct profile_mark m = {0};
    pthread_mutex_lock(&loader_lock);
    m.trace = tracing ? trace_number : 0;
    pthread_mutex_unlock(&loader_lock);
    m.begin = m.trace != 0 ? clock_s() : 0;
    return m;
}

void profile_loader_end(struct profile_mark begun, enum profile_span span)
{
    if (begun.trace == 0)
        return;
    pthread_mutex_lock(&loader_lock);
    if (tracing && begun.trace == trace_number) {
        struct profile_lane *l = &stopwatches[n_team + 1].lane;
        const double now = clock_s();
        l->seconds[PART_LOADER] += now - begun.begin;
        record_event(l, &(struct profile_event){.begin = begun.begin,
                                                .end = now,
                                                .index = -1,
                                                .span = (int16_t)span,
                                                .part = PART_REST});
    }
    pthread_mutex_unlock(&loader_lock);
}

/* ---- start and stop ---- */

static void sum_team(double seconds[N_PARTS])
{
    memset(seconds, 0, N_PARTS * sizeof *seconds);
    for (int i = 0; i < n_team && stopwatches != NULL; i++)
        for (int part = 0; part < N_PARTS; part++)
            seconds[part] += stopwatches[i].lane.seconds[part];
}

static int make_stopwatches(int n, int team)
{
    stopwatches = mem_array((size_t)n, sizeof *stopwatches);
    n_stopwatches = n;
    n_team = team;
    return stopwatches == NULL ? ERR_NOMEM : 0;
}

static void drop_stopwatches(void)
{
    for (int i = 0; i < n_stopwatches && stopwatches != NULL; i++) {
        struct profile_lane *l = &stopwatches[i].lane;
        if (l->events != NULL)
            mem_unmap(l->events, l->max_events * sizeof *l->events);
    }
    mem_free(stopwatches);
    mem_free(trace_lanes);
    stopwatches = NULL;
    trace_lanes = NULL;
    n_stopwatches = n_team = 0;
}

/* Within a trace, whose watches go on, it is a difference of their times. */
int profile_start(int n_threads)
{
    if (!tracing) {
        drop_stopwatches();
        return make_stopwatches(n_threads, n_threads);
    }
    sum_team(seconds_before);
    return 0;
}

void profile_stop(double seconds[N_PARTS])
{
    sum_team(seconds);
    for (int part = 0; part < N_PARTS && tracing; part++)
        seconds[part] -= seconds_before[part];
    if (!tracing)
        drop_stopwatches();
}

int profile_trace_start(int n_threads, size_t max_events)
{
    const int n = n_threads + 2;
    size_t each = (max_events == 0 ? DEFAULT_EVENTS : max_events) / (size_t)n;
    if (tracing)
        return err_set(ERR_EXISTS, "a profile is being recorded");
    drop_stopwatches();
    int rc = make_stopwatches(n, n_threads);
    each = each < MIN_EVENTS ? MIN_EVENTS : each;
    if (rc == 0 && (trace_lanes = mem_array((size_t)n, sizeof *trace_lanes)) == NULL)
        rc = ERR_NOMEM;
    for (int i = 0; i < n && rc == 0; i++) {
        struct profile_lane *l = &stopwatches[i].lane;
        l->max_events = each;
        l->events = mem_map("profile", each * sizeof *l->events);
        rc = l->events == NULL ? ERR_NOMEM : 0;
    }
    if (rc != 0) {
        drop_stopwatches();
        return rc;
    }
    pthread_mutex_lock(&loader_lock);
    trace_number++;
    tracing = true;
    pthread_mutex_unlock(&loader_lock);
    enter_stopwatch(&stopwatches[n_threads]);
    trace_begin = mine->since;
    return 0;
}

void profile_trace_stop(struct profile_trace *out)
{
    *out = (struct profile_trace){.n_threads = n_team, .begin = trace_begin};
    while (mine->depth > 0)
        profile_end();
    profile_set(PART_REST);
    out->end = mine->since;
    mine = NULL;
    pthread_mutex_lock(&loader_lock);
    tracing = false;
    pthread_mutex_unlock(&loader_lock);
    out->lanes = trace_lanes;
    trace_lanes = NULL;
    for (int i = 0; i < n_stopwatches; i++) {
        out->lanes[i] = stopwatches[i].lane;
        stopwatches[i].lane.events = NULL; /* whose owner is *out now */
    }
    drop_stopwatches();
}

void profile_trace_release(struct profile_trace *t)
{
    for (int i = 0; t->lanes != NULL && i < t->n_threads + 2; i++)
        mem_unmap(t->lanes[i].events, t->lanes[i].max_events * sizeof *t->lanes[i].events);
    mem_free(t->lanes);
    *t = (struct profile_trace){0};
}

double profile_trace_team_s(const struct profile_trace *t, enum profile_part part)
{
    double s = 0;
    for (int i = 0; i < t->n_threads; i++)
        s += t->lanes[i].seconds[part];
    return s / t->n_threads;
}

uint64_t profile_trace_dropped(const struct profile_trace *t)
{
    uint64_t n = 0;
    for (int i = 0; i < t->n_threads + 2; i++)
        n += t->lanes[i].n_dropped;
    return n;
}
