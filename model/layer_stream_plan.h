#ifndef PRATTLE_MODEL_LAYER_STREAM_PLAN_H
#define PRATTLE_MODEL_LAYER_STREAM_PLAN_H
/* Which parts of a model that is larger than memory stay in memory (layer_stream.h). */
#include "model/tensors.h"

enum { LAYER_STREAM_SLOTS = 3 };

/* What stays in memory. */
struct layer_stream_plan {
    bool streams;                                /* false: all of it, and there is no stream */
    bool keeps_head;                             /* the output head, and with it a tied embedding */
    int n_kept;                                  /* layers, spread evenly */
    uint64_t kept_bytes, slot_bytes, pass_bytes; /* in memory for good; of all slots; read a pass */
};

/*
 * The plan for weights of at most so many bytes in memory; p has been reserved (params_reserve).
 * ERR_NOMEM: even one layer at a time needs more, which is said.
 */
int layer_stream_plan(struct layer_stream_plan *out, const struct params *p, uint64_t room);
/* The plan with the least memory: nothing stays that is ever read. */
struct layer_stream_plan layer_stream_least(const struct params *p);
/* Whether a layer stays in memory. */
bool layer_stream_keeps(const struct layer_stream_plan *plan, const struct config *c, int layer);
/* The layer's bytes in the block, and where they begin. */
size_t layer_stream_span(const struct params *p, int layer, size_t *first);

/* Prepare p's block, of which nothing was touched yet, to be of memory only where the plan says. */
void layer_stream_prepare(struct params *p, const struct layer_stream_plan *plan);
/* Give back the memory of bytes first .. last - 1 of the block, except for what the plan keeps. */
void layer_stream_forget(struct params *p, const struct layer_stream_plan *plan, size_t first,
                         size_t last);

/* Where `at` is in the block, and the bytes of the output head. */
size_t layer_stream_offset(const struct params *p, const void *at);
size_t layer_stream_head_bytes(const struct params *p);

#endif
