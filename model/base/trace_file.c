#include "model/base/trace_file.h"

#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BUCKETS = 1000, PID = 1 };
/* The shortest time that a counter's value is the mean of. */
static const double LEAST_BUCKET_S = 1e-4;

static long long nanoseconds(const struct profile_trace *t, double at)
{
    return llround((at - t->begin) * 1e9);
}

/* Outer spans before those within them, as viewers nest spans of one beginning. */
static int compare_events(const void *a, const void *b)
{
    const struct profile_event *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return (y->span >= 0) - (x->span >= 0);
}

static int flush_text(struct file_writer *w, struct buf *text)
{
    int rc = file_write(w, text->data, text->n);
    text->n = 0;
    return rc;
}

/* ---- names ---- */

static int write_name(struct buf *out, int thread, const char *kind, const char *name)
{
    return buf_printf(out,
                      "{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\","
                      "\"args\":{\"name\":\"%s\"}},\n",
                      PID, thread, kind, name);
}

/* Tracks of viewers are in the order of tid: the caller first. */
static int lane_tid(const struct profile_trace *t, int lane)
{
    return lane == t->n_threads ? 0 : lane < t->n_threads ? lane + 1 : lane;
}

static int write_names(struct buf *out, const struct profile_trace *t)
{
    int rc = write_name(out, 0, "process_name", "prattle");
    for (int i = 0; i < t->n_threads + 2 && rc == 0; i++) {
        char name[32];
        snprintf(name, sizeof name, "thread %d", i);
        if (i < t->n_threads || t->lanes[i].n_events > 0)
            rc = write_name(out, lane_tid(t, i), "thread_name",
                            i < t->n_threads    ? name
                            : i == t->n_threads ? "caller"
                                                : "data loader");
    }
    return rc;
}

/* ---- spans ---- */

static int write_rates(struct buf *out, const struct profile_event *e)
{
    const double s = e->end - e->begin;
    int rc = 0;
    if (e->flops > 0)
        rc = buf_printf(out, "\"GFLOP/s\":%.4g", (double)e->flops / s * 1e-9);
    if (rc == 0 && e->bytes > 0)
        rc = buf_printf(out, "%s\"GB/s\":%.4g", e->flops > 0 ? "," : "",
                        (double)e->bytes / s * 1e-9);
    return rc;
}

static int write_span(struct buf *out, const struct profile_trace *t, int tid,
                      const struct profile_event *e)
{
    const long long begin = nanoseconds(t, e->begin), ns = nanoseconds(t, e->end) - begin;
    char index[16] = "";
    if (e->index >= 0)
        snprintf(index, sizeof index, " %d", e->index);
    int rc = buf_printf(out,
                        "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%lld.%03lld,"
                        "\"dur\":%lld.%03lld,\"cat\":\"%s\",\"name\":\"%s%s\",\"args\":{",
                        PID, tid, begin / 1000, begin % 1000, ns / 1000, ns % 1000,
                        e->span >= 0 ? "stage" : "category",
                        e->span >= 0 ? profile_span_name((enum profile_span)e->span)
                                     : profile_part_name((enum profile_part)e->part),
                        index);
    if (rc == 0)
        rc = write_rates(out, e);
    return rc == 0 ? buf_str(out, "}},\n") : rc;
}

static int write_lane(struct file_writer *w, struct buf *out, const struct profile_trace *t,
                      int lane)
{
    struct profile_lane *l = &t->lanes[lane];
    int rc = 0;
    qsort(l->events, l->n_events, sizeof *l->events, compare_events);
    for (size_t i = 0; i < l->n_events && rc == 0; i++) {
        rc = write_span(out, t, lane_tid(t, lane), &l->events[i]);
        if (rc == 0 && out->n > 1 << 16)
            rc = flush_text(w, out);
    }
    return rc;
}

/* ---- counters ---- */

struct buckets {
    double s; /* of each */
    int n;
    double flops[MAX_BUCKETS], bytes[MAX_BUCKETS], all_flops, all_bytes;
};

/* A span's work is even over its time. */
static void add_span(struct buckets *b, const struct profile_trace *t,
                     const struct profile_event *e)
{
    const double begin = e->begin - t->begin, end = e->end - t->begin;
    const int first = (int)(begin / b->s);
    for (int i = first < 0 ? 0 : first; i < b->n && i * b->s < end; i++) {
        const double share = (fmin(end, (i + 1) * b->s) - fmax(begin, i * b->s)) / (end - begin);
        b->flops[i] += (double)e->flops * share;
        b->bytes[i] += (double)e->bytes * share;
    }
    b->all_flops += (double)e->flops;
    b->all_bytes += (double)e->bytes;
}

static int write_counter(struct buf *out, const struct buckets *b, const char *name,
                         const double *sums)
{
    int rc = 0;
    for (int i = 0; i < b->n && rc == 0; i++)
        rc = buf_printf(out,
                        "{\"ph\":\"C\",\"pid\":%d,\"tid\":0,\"ts\":%.3f,\"name\":\"%s\","
                        "\"args\":{\"%s\":%.4g}},\n",
                        PID, i * b->s * 1e6, name, name, sums[i] / b->s * 1e-9);
    return rc;
}

static int write_counters(struct buf *out, const struct profile_trace *t)
{
    const double wall_s = t->end - t->begin;
    struct buckets *b = mem_alloc(sizeof *b);
    if (b == NULL)
        return ERR_NOMEM;
    b->s = fmax(wall_s / MAX_BUCKETS, LEAST_BUCKET_S);
    b->n = (int)fmin(ceil(wall_s / b->s), MAX_BUCKETS);
    for (int lane = 0; lane < t->n_threads; lane++)
        for (size_t i = 0; i < t->lanes[lane].n_events; i++) {
            const struct profile_event *e = &t->lanes[lane].events[i];
            if (e->flops > 0 || e->bytes > 0)
                add_span(b, t, e);
        }
    int rc = b->all_flops > 0 ? write_counter(out, b, "GFLOP/s", b->flops) : 0;
    if (rc == 0 && b->all_bytes > 0)
        rc = write_counter(out, b, "GB/s", b->bytes);
    mem_free(b);
    return rc;
}

/* ---- the file ---- */

static int write_seconds(struct buf *out, const char *name, const double *seconds)
{
    int rc = buf_printf(out, ",\n\"%s\":{", name);
    for (int part = 0; part < N_PARTS && rc == 0; part++)
        rc = buf_printf(out, "%s\"%s\":%.9f", part > 0 ? "," : "",
                        profile_part_name((enum profile_part)part), seconds[part]);
    return rc == 0 ? buf_char(out, '}') : rc;
}

static int write_head(struct buf *out, const struct profile_trace *t, const char *command)
{
    double team_s[N_PARTS];
    json_t *shown = json_of_text(command, strlen(command));
    for (int part = 0; part < N_PARTS; part++)
        team_s[part] = profile_trace_team_s(t, (enum profile_part)part);
    int rc = shown == NULL ? ERR_NOMEM : buf_str(out, "{\"otherData\":{\"command\":");
    if (rc == 0)
        rc = json_print(out, shown, JSON_ENCODE_ANY);
    json_decref(shown);
    if (rc == 0)
        rc = buf_printf(out, ",\n\"threads\":%d,\"wall_s\":%.9f,\"dropped_spans\":%llu",
                        t->n_threads, t->end - t->begin,
                        (unsigned long long)profile_trace_dropped(t));
    if (rc == 0)
        rc = write_seconds(out, "team_s", team_s);
    if (rc == 0)
        rc = write_seconds(out, "caller_s", t->lanes[t->n_threads].seconds);
    return rc == 0 ? buf_str(out, "},\n\"displayTimeUnit\":\"ms\",\n\"traceEvents\":[\n") : rc;
}

int trace_file_write(struct file_writer *w, struct profile_trace *t, const char *command)
{
    struct buf out = {0};
    int rc = write_head(&out, t, command);
    if (rc == 0)
        rc = write_names(&out, t);
    if (rc == 0)
        rc = write_counters(&out, t);
    for (int lane = 0; lane < t->n_threads + 2 && rc == 0; lane++)
        rc = write_lane(w, &out, t, lane);
    if (rc == 0)
        rc = flush_text(w, &out);
    if (rc == 0) /* every line before ends with a comma */
        rc = buf_printf(&out,
                        "{\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"name\":\"process_sort_index\","
                        "\"args\":{\"sort_index\":0}}\n]}\n",
                        PID);
    if (rc == 0)
        rc = flush_text(w, &out);
    buf_release(&out);
    return rc;
}
