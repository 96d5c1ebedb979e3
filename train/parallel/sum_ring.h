#ifndef PRATTLE_TRAIN_PARALLEL_SUM_RING_H
#define PRATTLE_TRAIN_PARALLEL_SUM_RING_H
/*
 * The sums of tensor parallelism (model/shard.h), from rank to rank of a group: a block of rows
 * goes from the first to the last, once for each round, and from the last on to all others.
 *
 *   2 rounds of 3 ranks    0 > 1 > 2 > 0 > 1 > 2 > 0 > 1
 *                          terms       terms       whole
 *
 * Blocks follow each other, so that all ranks are at work once the first has come round. What is
 * kept in parts goes from each rank to each other.
 */
#include "model/shard.h"
#include "train/parallel/group.h"

struct sum_ring;

/* ERR_NOMEM. */
int sum_ring_new(struct sum_ring **out, const struct rank_group *g);
void sum_ring_free(struct sum_ring *r);
/* Used by one thread at a time, where world_threaded() says so by any. */
struct shard_link sum_ring_link(struct sum_ring *r);

#endif
