#ifndef PRATTLE_TRAIN_RUN_SHARES_H
#define PRATTLE_TRAIN_RUN_SHARES_H
/*
 * Who has what of a run of several ranks (train/parallel/layout.h). A stage of a pipeline has the
 * weights, gradients and moments of its layers, a rank of tensor parallelism a slice of its stage's
 * weights and moments, which it updates (tensor_step.h). With zero=1 the replicas of a stage divide
 * what they update, and each has the moments of its part, and the slices; with zero=2 the summed
 * gradients of its part too (scatter.h). What rank 0 writes to files or shows, it reads from the
 * others part by part (ranks.h).
 *
 *   gradients   added up by the replicas of each stage
 *   norms       of all pieces to all ranks
 *   loss        of the first stage to all ranks
 */
#include "train/optim/optimizer.h"
#include "train/step/stage.h"

#include <stdbool.h>
#include <stddef.h>

struct run;

/* By each rank alone, for a run that is built; in a world of one nothing. stopped: whether the step
 * is not to go on, for scatter.h. ERR_NOMEM. */
int run_shares_open(struct run *r, bool (*stopped)(struct run *r));
void run_shares_close(struct run *r);

/* Which of a step's gradient blocks are this rank's. */
void run_shares_blocks(const struct run *r, int *first, int *last);
/* Those of all replicas (parallel/division.h), in a world of several: [replicas + 1], of so many
 * bytes. */
int *run_shares_firsts(struct run *r);
size_t run_shares_firsts_bytes(const struct run *r);
/* By all ranks, between steps, where these have changed. ERR_NOMEM. */
int run_shares_take_division(struct run *r);

/* By all ranks, once the blocks of a step are done: gradients and sums of all, where those of this
 * rank were. */
void run_shares_add(struct run *r);
/* After a step of the optimizer; to other replicas they are then on their way (spread.h). */
void run_shares_spread_weights(struct run *r);
/* Activation statistics of a step, to rank 0. */
void run_shares_gather_stats(struct run *r);

/* Of what a rank may have a part. */
enum run_share { SHARE_STATE /* of the optimizer */, SHARE_WEIGHTS };
/* Whether what a rank has counts: of several that have the same, that of the first replica. */
bool run_shares_speaks(const struct run *r, int rank, enum run_share what);
/* Whether ranks have parts of it each, so that no rank has all. */
bool run_shares_is_divided(const struct run *r, enum run_share what);
/* Bytes first to first + n - 1 of a block of it (of the weights there is one, 0), all of them at a
 * rank. */
struct run_part {
    enum run_share what;
    int block, rank;
    size_t first, n;
};
/* The rank that has the first byte, and how many of the n behind it. */
struct run_part run_shares_part(const struct run *r, enum run_share what, int block, size_t first,
                                size_t n);
/* Where they are, on the rank that has them; or have room, on any. */
void *run_shares_place(const struct run *r, const struct run_part *p);
/* What is this rank's of a block of the optimizer's state. */
struct spans run_shares_own(const struct run *r, const struct optimizer_block *b);
/* Forget what is not this rank's. */
void run_shares_drop(struct run *r, enum run_share what);

#endif
