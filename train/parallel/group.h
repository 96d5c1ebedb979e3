#ifndef PRATTLE_TRAIN_PARALLEL_GROUP_H
#define PRATTLE_TRAIN_PARALLEL_GROUP_H
/* Some ranks of the world, at equal distances. */
#include "train/parallel/world.h"

struct rank_group {
    int first, distance, size;
    int own; /* this rank's place among them */
};

/* All ranks. */
static inline struct rank_group group_world(void)
{
    return (struct rank_group){.distance = 1, .size = world_size(), .own = world_rank()};
}
static inline int group_rank(const struct rank_group *g, int place)
{
    return g->first + place * g->distance;
}
/* By all of the group: the n bytes of each, one after another, to all. */
void group_all_gather(const struct rank_group *g, void *all, const void *own, size_t n);
/* By all of the group: each one's slice of data to all. bounds [size + 1], where slices begin, in
 * elements of so many bytes; x [2 * size], for messages. */
void group_spread(const struct rank_group *g, const size_t *bounds, void *data, size_t each,
                  struct transfer *x);

#endif
