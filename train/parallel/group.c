#include "train/parallel/group.h"

#include <string.h>

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
