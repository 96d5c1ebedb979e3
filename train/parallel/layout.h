#ifndef PRATTLE_TRAIN_PARALLEL_LAYOUT_H
#define PRATTLE_TRAIN_PARALLEL_LAYOUT_H
/*
 * Which rank has what of a model: replicas, which share the windows of a step, each a pipeline of
 * stages, which share the layers, each of these so many ranks that share the layers' heads and
 * columns (tensor parallelism, model/shard.h). Ranks of a replica are one behind another:
 *
 *   replicas 2, stages 3      rank 0 1 2 | 3 4 5
 *   replicas 2, tensor 3      rank 0 1 2 | 3 4 5
 *   stages 2, tensor 3        rank 0 1 2 , 3 4 5
 *
 * A stage's layers may be several chunks, with those of the other stages between them (interleaved
 * stages): of 12 layers on 2 stages the first of 3 chunks has 0-1, 4-5 and 8-9.
 */
#include "model/config.h"
#include "train/parallel/chunk_ring.h"
#include "train/parallel/group.h"
#include "train/parallel/pipeline.h"
#include "train/step/stage.h"

enum { LAYOUT_MAX_STAGES = CONFIG_MAX_LAYERS + 1 };

struct layout {
    int stages, replicas, tensor;
    int chunks; /* of each stage; 1: its layers are one behind another */
    int n_layer;
    int layers[LAYOUT_MAX_STAGES]; /* [stages] */
};

/* The whole model in each of so many replicas, each one rank. */
void layout_init(struct layout *l, int n_layer, int replicas);
/*
 * The stages of layers_per_device: "", "none", or a list as "[0, 4, 4, 4]" or "4,4,4". ERR_RANGE
 * where it is none or is not one of n_layer layers.
 */
int layout_read(struct layout *l, const char *text, int n_layer);
/* Divide the layers of each stage into chunks, about as many in each as in others. ERR_RANGE, with
 * the nearest number that can be, where a stage would have a chunk without layers, but for a first
 * one that has none at all, or a chunk's neighbour would be the stage itself. */
int layout_divide(struct layout *l, int chunks);
/* How many stages a list has, right or not; and how many layers. */
int layout_count(const char *text);
int layout_layers(const char *text);
/* "4,4,4", a word that can be typed: about as many layers in each as in others. */
void layout_suggest(char *out, size_t n, int stages, int n_layer);

static inline int layout_stage_of(const struct layout *l, int rank)
{
    return rank / l->tensor % l->stages;
}
static inline int layout_replica_of(const struct layout *l, int rank)
{
    return rank / (l->stages * l->tensor);
}
/* The rank's place among those that share a stage. */
static inline int layout_tensor_of(const struct layout *l, int rank)
{
    return rank % l->tensor;
}
static inline int layout_rank(const struct layout *l, int replica, int stage)
{
    return (replica * l->stages + stage) * l->tensor;
}
/* The order in which a micro-batch comes to all chunks. */
static inline struct chunk_ring layout_ring(const struct layout *l)
{
    return (struct chunk_ring){l->stages, l->chunks, l->layers[0] == 0};
}
/* The layers of a chunk. */
struct layer_range layout_chunk(const struct layout *l, int stage, int chunk);
/* What a stage has of the model. */
struct model_stage layout_stage(const struct layout *l, int stage);
/* The order of a stage's work, or with PIPELINE_ALL of all, on a step of so many micro-batches,
 * of_block in each gradient block, of a model of c. ERR_NOMEM. */
int layout_plan(struct pipeline_plan *out, const struct layout *l, const struct config *c,
                int n_micro, int of_block, int stage);
/* This rank's peers: the same part of all replicas. */
struct rank_group layout_replicas(const struct layout *l);
/* Those with which it shares its stage. */
struct rank_group layout_tensor_group(const struct layout *l);

#endif
