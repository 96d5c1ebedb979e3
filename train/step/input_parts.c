#include "train/step/input_parts.h"

#include "model/base/par.h"
#include "model/base/profile.h"

#include <string.h>

/* The first layer's is received, unless the embedding is here too. */
void input_parts_find(bool *divided, const bool *recompute, const struct activation_range *range)
{
    for (int i = range->first; i < range->last; i++)
        divided[i] = recompute[i] && (i > range->first || range->end);
}

/* Bytes of this process's rows, and where they begin. */
static size_t find_own(const struct input_parts *k, size_t *at)
{
    int first, last;
    shard_rows(k->shard->n, k->shard->own, k->n_rows, &first, &last);
    *at = (size_t)first * k->row_bytes;
    return (size_t)(last - first) * k->row_bytes;
}

void *input_parts_take(const struct input_parts *k, struct arena *a)
{
    size_t at;
    return arena_take(a, find_own(k, &at));
}

static void copy_share(void *to, const void *from, size_t n, int thread, int n_threads)
{
    size_t first, count;
    profile_set(PART_REST);
    par_split_units(n, 4096, thread, n_threads, &first, &count);
    memcpy((char *)to + first, (const char *)from + first, count);
}

void input_parts_keep(const struct input_parts *k, void *part, int thread, int n_threads)
{
    size_t at;
    if (part == NULL)
        return;
    const size_t n = find_own(k, &at);
    par_barrier(); /* all have written to the place */
    copy_share(part, (const char *)k->place + at, n, thread, n_threads);
    par_barrier();
}

void input_parts_gather(const struct input_parts *k, const void *part, int thread, int n_threads)
{
    size_t at;
    if (part == NULL)
        return;
    const size_t n = find_own(k, &at);
    copy_share((char *)k->place + at, part, n, thread, n_threads);
    par_barrier();
    shard_gather(k->shard, k->place, k->row_bytes, k->n_rows, thread);
}
