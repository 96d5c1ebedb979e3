#include "train/run/waits.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>

int waits_init(struct waits *w, int size)
{
    w->size = size;
    w->line = mem_array((size_t)size, sizeof *w->line);
    w->since = mem_array((size_t)size, sizeof *w->since);
    return w->line == NULL || w->since == NULL ? ERR_NOMEM : 0;
}

void waits_release(struct waits *w)
{
    mem_free(w->line);
    mem_free(w->since);
    *w = (struct waits){0};
}

void waits_add(struct waits *w, const double *seconds)
{
    for (int i = 0; i < w->size; i++) {
        w->line[i] += seconds[i];
        w->since[i] += seconds[i];
    }
    w->steps++;
}

double waits_take_line(struct waits *w, int *rank)
{
    static const double least = 0.1;
    double most = 0, share = 0;
    *rank = 0;
    for (int i = 0; i < w->size; i++) {
        most = w->line[i] > most ? w->line[i] : most;
        *rank = w->line[i] < w->line[*rank] ? i : *rank;
    }
    if (most > 0)
        share = 1 - w->line[*rank] / most;
    memset(w->line, 0, (size_t)w->size * sizeof *w->line);
    return share >= least ? share : 0;
}

void waits_begin(struct waits *w)
{
    memset(w->since, 0, (size_t)w->size * sizeof *w->since);
    w->steps = 0;
}
