#include "train/run/waits.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdbool.h>
#include <string.h>

static const double least_share = 0.1;

int waits_init(struct waits *w, int size)
{
    *w = (struct waits){.size = size};
    w->line = mem_array((size_t)size, sizeof *w->line);
    w->in_a_row = mem_array((size_t)size, sizeof *w->in_a_row);
    w->since = mem_array((size_t)size, sizeof *w->since);
    return w->line == NULL || w->in_a_row == NULL || w->since == NULL ? ERR_NOMEM : 0;
}

void waits_release(struct waits *w)
{
    mem_free(w->line);
    mem_free(w->in_a_row);
    mem_free(w->since);
    *w = (struct waits){0};
}

static double most_seconds(const double *seconds, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = seconds[i] > most ? seconds[i] : most;
    return most;
}

/* Of the time that the slowest was at work. */
static double waited_share(double seconds, double most)
{
    return most > 0 ? 1 - seconds / most : 0;
}

void waits_add(struct waits *w, const double *seconds)
{
    const double most = most_seconds(seconds, w->size);
    for (int i = 0; i < w->size; i++) {
        const bool long_enough = waited_share(seconds[i], most) >= least_share;
        w->in_a_row[i] = !long_enough ? 0 : w->in_a_row[i] + (w->in_a_row[i] < WAITS_STEPS);
        w->line[i] += seconds[i];
        w->since[i] += seconds[i];
    }
    w->line_steps++;
    w->steps++;
}

double waits_take_line(struct waits *w, int *rank)
{
    *rank = 0;
    for (int i = 0; i < w->size; i++)
        *rank = w->line[i] < w->line[*rank] ? i : *rank;
    const double share = waited_share(w->line[*rank], most_seconds(w->line, w->size));
    const bool tells = w->line_steps >= WAITS_STEPS || w->in_a_row[*rank] >= WAITS_STEPS;
    memset(w->line, 0, (size_t)w->size * sizeof *w->line);
    w->line_steps = 0;
    return tells && share >= least_share ? share : 0;
}

void waits_begin(struct waits *w)
{
    memset(w->since, 0, (size_t)w->size * sizeof *w->since);
    w->steps = 0;
}
