#include "model/base/profile.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>

/* One thread's clock, in cache lines of its own. Time since `since` belongs to category `now`. */
struct stopwatch {
    _Alignas(64) double seconds[N_PARTS];
    double since;
    enum profile_part now;
};

static struct stopwatch *stopwatches; /* [n_stopwatches]; NULL: off */
static int n_stopwatches;
static _Thread_local struct stopwatch *mine;

int profile_start(int n_threads)
{
    double none[N_PARTS];
    profile_stop(none);
    n_stopwatches = n_threads;
    stopwatches = mem_array((size_t)n_stopwatches, sizeof *stopwatches);
    return stopwatches == NULL ? ERR_NOMEM : 0;
}

void profile_stop(double seconds[N_PARTS])
{
    memset(seconds, 0, N_PARTS * sizeof *seconds);
    for (int i = 0; i < n_stopwatches && stopwatches != NULL; i++)
        for (int part = 0; part < N_PARTS; part++)
            seconds[part] += stopwatches[i].seconds[part];
    mem_free(stopwatches);
    stopwatches = NULL;
}

enum profile_part profile_set(enum profile_part part)
{
    struct stopwatch *w = mine;
    if (w == NULL)
        return PART_REST;
    enum profile_part was = w->now;
    double now = clock_s();
    w->seconds[was] += now - w->since;
    w->since = now;
    w->now = part;
    return was;
}

void profile_enter(int thread)
{
    mine = stopwatches != NULL && thread < n_stopwatches ? &stopwatches[thread] : NULL;
    if (mine != NULL) {
        mine->since = clock_s();
        mine->now = PART_REST;
    }
}

void profile_leave(void)
{
    profile_set(PART_REST);
    mine = NULL;
}
