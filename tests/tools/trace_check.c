/*
 * Whether a file is a Chrome trace as the command profile writes it.
 *
 *   trace_check FILE
 *
 * Prints what is wrong, status 1; else the command, then each thread with the spans it has, without
 * their numbers, and the counters, each name once.
 */
#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/profile.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 64, MAX_DEPTH = 64, MAX_NAMES = N_PARTS + N_SPANS };

static struct lane {
    char name[32];
    double ends[MAX_DEPTH], last; /* of the spans that are open; the beginning of the last */
    int depth;
    bool has[MAX_NAMES];
    double parts[N_PARTS]; /* microseconds */
} lanes[MAX_THREADS];
static bool has_flops, has_bytes;

static void fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    putchar('\n');
    exit(1);
}

static double take_number(const json_t *e, const char *key)
{
    const json_t *value = json_object_get(e, key);
    if (!json_is_number(value) || !isfinite(json_number_value(value)))
        fail("no number %s", key);
    return json_number_value(value);
}

static const char *take_string(const json_t *e, const char *key)
{
    const json_t *value = json_object_get(e, key);
    if (!json_is_string(value))
        fail("no text %s", key);
    return json_string_value(value);
}

static struct lane *take_lane(const json_t *e)
{
    const json_t *tid = json_object_get(e, "tid"), *pid = json_object_get(e, "pid");
    if (!json_is_integer(tid) || !json_is_integer(pid))
        fail("no whole numbers pid and tid");
    const json_int_t i = json_integer_value(tid);
    if (i < 0 || i >= MAX_THREADS)
        fail("thread %d", (int)i);
    return &lanes[i];
}

/* Of a category or a stage, whose number is behind its name. */
static int find_name(const char *text, const char *category)
{
    const bool stage = strcmp(category, "stage") == 0;
    for (int i = 0; i < (stage ? N_SPANS : N_PARTS); i++) {
        const char *name = stage ? profile_span_name((enum profile_span)i)
                                 : profile_part_name((enum profile_part)i);
        const size_t n = strlen(name);
        if (strncmp(text, name, n) == 0 &&
            (text[n] == '\0' ||
             (stage && text[n] == ' ' && text[n + 1 + strspn(text + n + 1, "0123456789")] == '\0')))
            return (stage ? N_PARTS : 0) + i;
    }
    fail("unknown name %s of a %s", text, category);
    return 0;
}

/* Times are whole nanoseconds, in microseconds with three digits. */
static void check_span(const json_t *e)
{
    struct lane *l = take_lane(e);
    const double begin = take_number(e, "ts"), dur = take_number(e, "dur"), near = 5e-4;
    const int name = find_name(take_string(e, "name"), take_string(e, "cat"));
    if (begin < 0 || dur < 0)
        fail("%s at %.3f for %.3f", take_string(e, "name"), begin, dur);
    if (begin < l->last - near)
        fail("%s at %.3f stands behind one at %.3f", take_string(e, "name"), begin, l->last);
    l->last = begin;
    while (l->depth > 0 && l->ends[l->depth - 1] <= begin + near)
        l->depth--;
    if (l->depth > 0 && begin + dur > l->ends[l->depth - 1] + near)
        fail("%s at %.3f ends at %.3f, behind what it is in, %.3f", take_string(e, "name"), begin,
             begin + dur, l->ends[l->depth - 1]);
    if (l->depth == MAX_DEPTH)
        fail("too deep");
    l->ends[l->depth++] = begin + dur;
    l->has[name] = true;
    if (name < N_PARTS)
        l->parts[name] += dur;
}

static void check_event(const json_t *e)
{
    const char *kind = take_string(e, "ph");
    const json_t *args = json_object_get(e, "args");
    if (!json_is_object(args))
        fail("no args");
    if (strcmp(kind, "X") == 0) {
        check_span(e);
    } else if (strcmp(kind, "C") == 0) {
        const char *name = take_string(e, "name");
        if (take_number(e, "ts") < 0 || take_number(args, name) < 0)
            fail("%s below 0", name);
        has_flops |= strcmp(name, "GFLOP/s") == 0;
        has_bytes |= strcmp(name, "GB/s") == 0;
    } else if (strcmp(kind, "M") != 0) {
        fail("an event %s", kind);
    } else if (strcmp(take_string(e, "name"), "thread_name") == 0) {
        struct lane *l = take_lane(e);
        snprintf(l->name, sizeof l->name, "%s", take_string(args, "name"));
    }
}

/* Every moment of the caller is of a category, and the team works while the caller waits for it. */
static void check_sums(const json_t *other)
{
    const double wall_s = take_number(other, "wall_s");
    const json_t *team = json_object_get(other, "team_s"),
                 *caller = json_object_get(other, "caller_s");
    double team_s = 0, caller_s = 0;
    for (int i = 0; i < N_PARTS; i++) {
        const char *name = profile_part_name((enum profile_part)i);
        const double of_team = take_number(team, name), of_caller = take_number(caller, name);
        const int n = (int)take_number(other, "threads");
        double spans = 0;
        for (int k = 1; k <= n; k++)
            spans += lanes[k].parts[i] * 1e-6 / n;
        if (of_team < 0 || of_caller < 0 || spans > of_team + wall_s / 100)
            fail("%s: %g s of the team, %g of the caller, %g in spans", name, of_team, of_caller,
                 spans);
        team_s += of_team;
        caller_s += of_caller;
    }
    if (fabs(caller_s - wall_s) > 1e-6 + wall_s / 1000)
        fail("%g s by category, of %g", caller_s, wall_s);
    if (team_s > take_number(caller, "waits") + 1e-6 + wall_s / 1000)
        fail("%g s of the team, for which the caller waited %g", team_s,
             take_number(caller, "waits"));
}

static void print_lane(const struct lane *l)
{
    printf("%s:", l->name);
    for (int i = 0; i < MAX_NAMES; i++)
        if (l->has[i])
            printf(" %s,", i < N_PARTS ? profile_part_name((enum profile_part)i)
                                       : profile_span_name((enum profile_span)(i - N_PARTS)));
    putchar('\n');
}

int main(int argc, char **argv)
{
    json_t *trace = NULL;
    if (argc != 2 || json_read_file(&trace, argv[1], 1 << 30) != 0)
        fail("%s", argc == 2 ? err_text() : "trace_check FILE");
    const json_t *events = json_object_get(trace, "traceEvents"),
                 *other = json_object_get(trace, "otherData");
    if (!json_is_array(events) || !json_is_object(other))
        fail("no traceEvents, or no otherData");
    for (size_t i = 0; i < json_array_size(events); i++)
        check_event(json_array_get(events, i));
    check_sums(other);
    printf("command: %s, %d threads, %d dropped\n", take_string(other, "command"),
           (int)take_number(other, "threads"), (int)take_number(other, "dropped_spans"));
    for (int i = 0; i < MAX_THREADS; i++)
        if (lanes[i].name[0] != '\0')
            print_lane(&lanes[i]);
    printf("counters:%s%s\n", has_flops ? " GFLOP/s" : "", has_bytes ? " GB/s" : "");
    json_decref(trace);
    return 0;
}
