#include "train/parallel/group.h"

#include <string.h>

enum { PART = 1 << 18 /* elements that move at once */ };

void group_all_gather(const struct rank_group *g, void *all, const void *own, size_t n)
{
    const int leader = group_rank(g, 0);
    if (g->own > 0) {
        world_send_whole(leader, TAG_GATHER, own, n);
        world_receive_whole(leader, TAG_BROADCAST, all, n * (size_t)g->size);
        return;
    }
    memcpy(all, own, n);
    for (int i = 1; i < g->size; i++)
        world_receive_whole(group_rank(g, i), TAG_GATHER, (char *)all + (size_t)i * n, n);
    for (int i = 1; i < g->size; i++)
        world_send_whole(group_rank(g, i), TAG_BROADCAST, all, n * (size_t)g->size);
}

/* Part k of a slice: its elements, 0 behind its end. */
static size_t slice_part(const size_t *bounds, int place, size_t k, size_t *at)
{
    *at = bounds[place] + k * PART;
    const size_t end = bounds[place + 1];
    return *at >= end ? 0 : end - *at < PART ? end - *at : PART;
}

void group_spread(const struct rank_group *g, const size_t *bounds, void *data, size_t each,
                  struct transfer *x)
{
    bool more = true;
    for (size_t k = 0; more; k++) {
        int going = 0;
        size_t at, from;
        const size_t n = slice_part(bounds, g->own, k, &at);
        more = n > 0;
        for (int other = 0; other < g->size; other++) {
            const size_t n_other = slice_part(bounds, other, k, &from);
            more |= n_other > 0;
            if (other != g->own && n > 0)
                world_send(group_rank(g, other), TAG_WHOLE, (char *)data + at * each, n * each,
                           &x[going++]);
            if (other != g->own && n_other > 0)
                world_receive(group_rank(g, other), TAG_WHOLE, (char *)data + from * each,
                              n_other * each, &x[going++]);
        }
        world_wait(x, going);
    }
}
