#ifndef PRATTLE_TRAIN_RUN_RANKS_H
#define PRATTLE_TRAIN_RUN_RANKS_H
/*
 * A run of several ranks (train/parallel/world.h). Each computes some of the gradient blocks of
 * every step, or some layers of them (shares.h), and rank 0 does what is due between steps. Others
 * follow its word:
 *
 *   rank 0    what is due   word: step   micro-batches   meeting: done            sum, optimizer
 *   others         .        word: step   micro-batches   meeting: done            sum, optimizer
 *
 * At the meeting rank 0 hears from all how their micro-batches ended, and says whether the step
 * goes on; that it does not, it says as soon as it knows, and others look for that between
 * micro-batches. In a world of one, none of these functions does anything.
 */
#include "train/run/shares.h"

#include <stdbool.h>
#include <stdint.h>

struct run;

/* By each rank alone, for a run that is built: which micro-batches are its own. ERR_NOMEM. */
int run_ranks_open(struct run *r);
void run_ranks_close(struct run *r);
/* Rank 0: the next step begins. */
void run_ranks_begin_step(struct run *r);
/* Others: wait for rank 0's word. ORDER_DIVIDE: as after run_ranks_divide; ORDER_PARTS: as after
 * run_ranks_begin_parts. */
enum run_order { ORDER_END, ORDER_STEP, ORDER_DIVIDE, ORDER_PARTS };
enum run_order run_ranks_follow(struct run *r);

/* Rank 0, between steps: whether some ranks wait so long for others that blocks of the steps to
 * come are theirs now; then all have to fit their steps to it (run_refit_step). */
bool run_ranks_divide(struct run *r);
/* All, then: which windows are its own (run_shares_blocks). */
void run_ranks_take_division(struct run *r);
/* The rank that has waited most since the last line, and for which share of the time; 0: none has
 * for long. */
double run_ranks_waited(struct run *r, int *rank);

/* How many of a step's micro-batches are this rank's, and how many of the step's windows lie before
 * the first, or zero=2 before that of r->micro. */
int run_ranks_micro(const struct run *r);
uint64_t run_ranks_offset(const struct run *r);

/* Whether the step is not to go on; between micro-batches. */
bool run_ranks_stopped(struct run *r);
/* By shards that compute together (tensor_step.h), before they do: whether all are ready, as this
 * one is for rc 0 unless the step is not to go on. What keeps one from it rank 0 hears before the
 * others do: these may wait for ranks that wait for theirs. `meanwhile` may be NULL. */
bool run_ranks_ready(struct run *r, int rc, bool stopped, void (*meanwhile)(void *user),
                     void *user);
/* The micro-batches have ended, for rc. 0: those of all ranks are done; else the code of why the
 * step does not go on, with its sentence. Hours of training are then those of rank 0. */
int run_ranks_meet(struct run *r, int rc);
/* Rank 0, between steps: bytes first to first + n - 1 of a block, whichever ranks have them; also
 * to their place in the block itself. */
void run_ranks_read(struct run *r, enum run_share what, int block, void *to, size_t first,
                    size_t n);
/* Rank 0, between steps: a checkpoint is written by all (parts.h). */
void run_ranks_begin_parts(struct run *r);
/* Whether this rank has all that a checkpoint of the last whole step has, without the others. */
bool run_ranks_has_state(const struct run *r);

#endif
