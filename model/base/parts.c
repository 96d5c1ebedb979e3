#include "model/base/parts.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"

#include <string.h>

/* One thread's, in cache lines of its own. */
struct watch {
    _Alignas(64) double seconds[N_PARTS];
    double since;
    enum team_part now;
};

static struct watch *watches; /* [n_watches]; NULL: off */
static int n_watches;
static _Thread_local struct watch *mine;

int parts_start(void)
{
    double none[N_PARTS];
    parts_stop(none);
    n_watches = par_threads();
    watches = mem_array((size_t)n_watches, sizeof *watches);
    return watches == NULL ? ERR_NOMEM : 0;
}

void parts_stop(double seconds[N_PARTS])
{
    memset(seconds, 0, N_PARTS * sizeof *seconds);
    for (int i = 0; i < n_watches && watches != NULL; i++)
        for (int part = 0; part < N_PARTS; part++)
            seconds[part] += watches[i].seconds[part];
    mem_free(watches);
    watches = NULL;
}

enum team_part parts_set(enum team_part part)
{
    struct watch *w = mine;
    if (w == NULL)
        return PART_REST;
    enum team_part was = w->now;
    double now = clock_s();
    w->seconds[was] += now - w->since;
    w->since = now;
    w->now = part;
    return was;
}

void parts_enter(int thread)
{
    mine = watches != NULL && thread < n_watches ? &watches[thread] : NULL;
    if (mine != NULL) {
        mine->since = clock_s();
        mine->now = PART_REST;
    }
}

void parts_leave(void)
{
    parts_set(PART_REST);
    mine = NULL;
}
