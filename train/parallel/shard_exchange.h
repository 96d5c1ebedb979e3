#ifndef PRATTLE_TRAIN_PARALLEL_SHARD_EXCHANGE_H
#define PRATTLE_TRAIN_PARALLEL_SHARD_EXCHANGE_H
/*
 * Between shards, which ranks compute with (model/shard.h), and slices of the whole block, which
 * they update: the optimizer's pieces of work are runs of the whole, and rows of a matrix whose
 * columns are divided belong to several shards. Each rank has a slice of about the same length.
 *
 *   shard 0   | wte: first rows | c_attn: first heads | ...      gradients  -->  weights <--
 *   slice 0   | first elements of all |
 */
#include "model/base/dtype.h"
#include "model/shard.h"
#include "train/parallel/group.h"

struct shard_exchange;

/* bounds [size + 1], copied: slices of the ranks of the group, each with the shard of its place in
 * it. ERR_NOMEM. */
int shard_exchange_new(struct shard_exchange **out, const struct rank_group *g,
                       const struct config *whole, const size_t *bounds, enum dtype dtype);
void shard_exchange_free(struct shard_exchange *x);
/* By all of the group: slice, this rank's part of the whole, of what all have in their shards; and
 * shard, of what all have in their slices. */
void shard_exchange_gather(struct shard_exchange *x, void *slice, const void *shard);
void shard_exchange_spread(struct shard_exchange *x, void *shard, const void *slice);
/* What it takes, in bytes. */
size_t shard_exchange_bytes(void);

#endif
