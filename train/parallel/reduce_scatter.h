#ifndef PRATTLE_TRAIN_PARALLEL_REDUCE_SCATTER_H
#define PRATTLE_TRAIN_PARALLEL_REDUCE_SCATTER_H
/*
 * The gradients of a step for zero=2: no replica keeps more of their sum than its slice, and what a
 * block adds is on its way while the next layers are computed. The group is of ranks that compute
 * with the same part of the model: all, or the peers of a stage or shard, one of each replica.
 *
 * They take the blocks in turns, so that those of a round lie side by side in the tree of
 * step/gradient_blocks.h and join to few nodes at once:
 *
 *   round 0   block 0 (rank 0)   block 1 (rank 1)   block 2 (rank 2)
 *   round 1   block 3 (rank 0)   block 4 (rank 1)
 *
 * A block is given away in units: a layer as soon as its gradients are whole, from the last to the
 * first, and in the end what lies outside the layers. A thread of its own sends each unit to the
 * ranks of the slices and joins what it receives of all blocks of the round to the nodes of the
 * rounds before, in the tree's order. The memory of a unit that was sent is zero, and may go back
 * to the system.
 *
 * Functions are called by one thread at a time.
 */
#include "train/parallel/group.h"
#include "train/parallel/unit_slices.h"
#include "train/step/gradient_blocks.h"

struct reduce_scatter;

/* What it is of, for as long as the world is as it is; all is copied. Sizes, and ranks but for
 * those of messages, are the group's. */
struct reduce_scatter_shape {
    struct rank_group group;
    int n_blocks;
    struct unit_slices slices; /* of the gradients; units in the order in which they are given */
    enum dtype dtype;
    bool half;        /* nodes are rounded (half_partials.h), and are sent in 16 bits */
    int most_pending; /* units that wait to be sent before await has the caller wait, and the memory
                         of those that were sent goes back to the system; 0: any, and it stays */
};

/* How many blocks a rank has, and which is its number i. */
int reduce_scatter_count(int n_blocks, int size, int rank);
int reduce_scatter_block(int size, int rank, int i);
/* How many nodes of the tree a slice has memory for. */
int reduce_scatter_slots(int n_blocks, int size);
/* The memory of what is on its way. */
size_t reduce_scatter_flights_bytes(int size, enum dtype dtype, bool half);

/* By threads of its own, which world_threaded() must allow. ERR_NOMEM */
int reduce_scatter_new(struct reduce_scatter **out, const struct reduce_scatter_shape *s);
void reduce_scatter_free(struct reduce_scatter *r);
/* By all ranks, also those that will have given nothing when the step is given up: a step begins,
 * whose blocks are computed in gradients, of which the spans are zero. */
void reduce_scatter_begin(struct reduce_scatter *r, void *gradients);
/* Whether a unit of the block before has been sent, so that this one may add to its memory, and no
 * more units are pending than may be; waits for it no longer than a moment. */
bool reduce_scatter_await(struct reduce_scatter *r, int unit);
/* The same, without waiting, however many units are pending. */
bool reduce_scatter_is_ready(struct reduce_scatter *r, int unit);
/* A unit of the block is whole: units in their order. */
void reduce_scatter_give(struct reduce_scatter *r, int unit);
/* All units of the block have been given; sums are its own. */
void reduce_scatter_end_block(struct reduce_scatter *r, const struct step_result *sums);
/* By all ranks, once all have given all their blocks: what reduce_scatter_slices then has, and
 * sums, is the step's. */
void reduce_scatter_finish(struct reduce_scatter *r, struct step_result *sums);
/* By all ranks: the step is given up, wherever each is in it. */
void reduce_scatter_abandon(struct reduce_scatter *r);
/* The gradients from where this rank's slice of the first span begins; its slices are the step's.
 */
const void *reduce_scatter_slices(const struct reduce_scatter *r);
/* That element. */
size_t reduce_scatter_first(const struct reduce_scatter *r);

#endif
