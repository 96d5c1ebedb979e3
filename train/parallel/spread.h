#ifndef PRATTLE_TRAIN_PARALLEL_SPREAD_H
#define PRATTLE_TRAIN_PARALLEL_SPREAD_H
/*
 * An all-gather that is read while it goes on: each rank of a group has slices of a block, and all
 * come to have all of it, unit by unit. A thread of its own sends this rank's slices to each other
 * and receives theirs, from each of them at once, so that a link is in use both ways. Where all are
 * on one host, or MPI serves one thread alone, all is there when spread_begin returns.
 *
 *   thread    unit 0 | unit 1 | unit 2 | ...
 *   reader             unit 0 . unit 1 . unit 2
 */
#include "train/parallel/group.h"
#include "train/parallel/unit_slices.h"

struct spread;

/* Of elements of so many bytes; units in the order in which they are read. ERR_NOMEM. */
int spread_new(struct spread **out, const struct rank_group *g, const struct unit_slices *slices,
               size_t each);
/* Once what has begun is done. */
void spread_free(struct spread *s);
/* By all of the group, once their slices are whole: those of data go to all. Until spread_finish
 * nobody changes data. */
void spread_begin(struct spread *s, void *data);
/* Wait until this unit and those before it are here; by any threads, several at once. It ends
 * whatever other ranks do, as long as they live: their threads ask nobody. */
void spread_await(struct spread *s, int unit);
/* Wait until all are, and this rank's are there. */
void spread_finish(struct spread *s);

#endif
