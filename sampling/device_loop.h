#ifndef PRATTLE_DEVICE_LOOP_H
#define PRATTLE_DEVICE_LOOP_H
/*
 * The device loop: one call runs up to n decode steps for all its slots (forward,
 * filters, draw, cache append, stop test) inside one parallel region, and hands
 * tokens over through a ring that the host reads meanwhile. No allocation, lock or
 * system call in between.
 */
#include "sampling/generate.h"

/* One text being decoded. */
struct slot {
    struct kv_seq *seq;
    token_id *text; /* [n_ctx + 1]: prompt and new tokens */
    size_t n_text;
    int n_new, max_new;
    token_id last; /* drawn, not yet in the cache */
    struct sampler *sampler;
    struct stream *stream; /* for stop strings */
    token_id stop_token;   /* TOKEN_NONE: none */
    float *logits;         /* [V] of this slot */
    bool live;
    enum finish finish;
};

/* One token on its way to the host. */
struct handed {
    int slot;
    struct sampled token;
    bool ended;
    enum finish finish;
};

struct device_loop {
    struct engine *engine;
    struct slot *slots;
    int n_slots;
    struct handed *ring; /* [ring_size], written by the device, read by the host */
    /* the rest is device_loop.c's own */
    struct loop_state *state;
};

#endif
