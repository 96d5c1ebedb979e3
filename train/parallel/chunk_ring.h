#ifndef PRATTLE_TRAIN_PARALLEL_CHUNK_RING_H
#define PRATTLE_TRAIN_PARALLEL_CHUNK_RING_H
/*
 * The chunks of a pipeline in the order in which a micro-batch comes to them: each stage has as
 * many, and stages take turns. A first stage that is bare, without layers, has one alone, for the
 * embedding and the head:
 *
 *   3 stages of 2 chunks   stage 0 1 2 0 1 2     the first bare   stage 0 1 2 1 2
 *                          chunk 0 0 0 1 1 1                      chunk 0 0 0 1 1
 */
#include <stdbool.h>

struct chunk_ring {
    int stages, chunks;
    bool bare; /* which more than one chunk makes a difference to */
};

static inline bool chunk_ring_skips(const struct chunk_ring *r)
{
    return r->bare && r->chunks > 1;
}
static inline int chunk_ring_size(const struct chunk_ring *r)
{
    return r->stages * r->chunks - (chunk_ring_skips(r) ? r->chunks - 1 : 0);
}
/* How many chunks a stage has. */
static inline int chunk_ring_chunks(const struct chunk_ring *r, int stage)
{
    return stage == 0 && chunk_ring_skips(r) ? 1 : r->chunks;
}
/* The place of a stage's chunk. */
static inline int chunk_ring_place(const struct chunk_ring *r, int stage, int chunk)
{
    return chunk * r->stages + stage - (chunk_ring_skips(r) ? chunk : 0);
}
static inline int chunk_ring_stage(const struct chunk_ring *r, int place)
{
    return place == 0 || !chunk_ring_skips(r) ? place % r->stages
                                              : 1 + (place - 1) % (r->stages - 1);
}
static inline int chunk_ring_chunk(const struct chunk_ring *r, int place)
{
    return place == 0 || !chunk_ring_skips(r) ? place / r->stages : (place - 1) / (r->stages - 1);
}

#endif
