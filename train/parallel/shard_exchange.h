#ifndef PRATTLE_TRAIN_PARALLEL_SHARD_EXCHANGE_H
#define PRATTLE_TRAIN_PARALLEL_SHARD_EXCHANGE_H
/*
 * Between shards, which ranks compute with (model/shard.h), and slices of the whole block, which
 * they update: the optimizer's pieces of work are runs of the whole, and rows of a matrix whose
 * columns are divided belong to several shards. A rank has slices of about the same length of each
 * span of the whole that there is, as of a stage's layers; the shards have these alone too.
 *
 *   shard 0   | wte: first rows | c_attn: first heads | ...      gradients  -->  weights <--
 *   slice 0   | first elements of a span |
 */
#include "model/base/dtype.h"
#include "model/shard.h"
#include "train/parallel/group.h"
#include "train/step/stage.h"

struct shard_exchange;

/* slices [size], copied: of the ranks of the group, each with the shard of its place in it; those
 * of a span at the same place in all. ERR_NOMEM. */
int shard_exchange_new(struct shard_exchange **out, const struct rank_group *g,
                       const struct config *whole, const struct spans *slices, enum dtype dtype);
void shard_exchange_free(struct shard_exchange *x);
/* By all of the group: slice, the whole from where this rank's first slice begins, of what all have
 * in their shards; and shard, of what all have in their slices. The shard that is read is there
 * from element `first` on: nothing of the slices lies before it. */
void shard_exchange_gather(struct shard_exchange *x, void *slice, const void *shard, size_t first);
void shard_exchange_spread(struct shard_exchange *x, void *shard, const void *slice);
/* What it takes, in bytes. */
size_t shard_exchange_bytes(void);

#endif
