#ifndef PRATTLE_TRAIN_RUN_TENSOR_STEP_H
#define PRATTLE_TRAIN_RUN_TENSOR_STEP_H
/*
 * Tensor parallelism in a run (model/shard.h): the ranks of a replica, or of a stage of its
 * pipeline, compute every micro-batch together, each with its shard of the weights, and gradients
 * of the same layout. The optimizer's pieces of work are runs of the whole block, so each rank
 * updates a slice of what these ranks have of it, and has its moments (parallel/shard_exchange.h):
 *
 *   shard      weights --> gradients . . . . weights
 *                              |                ^
 *   slice                  gradients -------> weights, moments
 *
 * With zero=1 each replica updates a part of the whole, which its ranks have slices of: so its
 * shards need no more than their runs of it of the summed gradients, and have the rest of the
 * weights from the other replicas' (shares.h). r->weights are the whole block, of which this rank
 * has its slice. Nothing is computed twice but what is C wide; a rank that stops does so between
 * two micro-batches, or jobs of a pipeline, with all that compute these.
 */
#include "train/step/step_config.h"
#include "train/step/weights.h"

struct run;
struct source;

/* Where the layout has several ranks for each stage; else nothing. By each rank alone: r->weights
 * and the shard, from the model's files where they are open. */
bool run_tensor_is_on(const struct run *r);
int run_tensor_open(struct run *r, const struct source *from, enum dtype precision);
void run_tensor_close(struct run *r);
/* For the step that is to be made. */
void run_tensor_fit(const struct run *r, struct step_config *s);
/* Those that the step computes with: the shard, or r->weights. */
struct weights *run_tensor_weights(struct run *r);
/* A rank's slices of the block, one of each span of its stage. */
struct spans run_tensor_slices(const struct run *r, int rank);
/* Elements [n] of the block, in their order, become those of the shard: the first that it has from
 * there on, or its end. */
void run_tensor_places(const struct run *r, size_t *elements, int n);

/* By all shards, before they compute a micro-batch, or a job of a pipeline: whether all are ready
 * for it. Until the others are here `meanwhile`, which may be NULL, is called. Without tensor
 * parallelism, whether this rank is. */
bool run_tensor_ready(struct run *r, bool ready, void (*meanwhile)(void *user), void *user);
/* By all shards: the gradients of a step, which are there from element `first` of the shard on, to
 * the slices; updated weights to the shards. */
void run_tensor_gather_gradients(struct run *r, const void *shard, size_t first);
void run_tensor_spread_weights(struct run *r);
/* The gradients from where this rank's first slice begins. */
const void *run_tensor_gradients(const struct run *r);

#endif
