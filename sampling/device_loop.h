#ifndef PRATTLE_SAMPLING_DEVICE_LOOP_H
#define PRATTLE_SAMPLING_DEVICE_LOOP_H
/*
 * The device loop: one call runs up to n decode steps for all its slots (forward,
 * filters, draw, cache append, stop test) inside one parallel region, and hands
 * tokens over through a ring that the host reads meanwhile. No allocation, lock or
 * system call in between. Run one step at a time it is the step-by-step way; the
 * tokens are the same.
 */
#include "kvcache/engine.h"
#include "sampling/chain/sampler.h"
#include "sampling/text/request.h"
#include "sampling/text/stream.h"

#include <stdatomic.h>

/*
 * One text being decoded. Between runs the last id of a live slot either is in the
 * cache and its logits wait for a draw (ready), or waits to be fed.
 */
struct slot {
    bool live, ready;
    struct kv_seq *seq; /* n_text ids of it filled when ready, else n_text - 1 */
    token_id *text;     /* [n_ctx + 1] prompt and new tokens */
    int n_text;
    int n_new, max_new; /* n_new < max_new and n_text <= n_ctx while live */
    float *logits;      /* [V] after the last id, when ready; the loop moves it */
    struct sampler *sampler;
    struct stop_tokens stop_tokens;
    struct stream *stream; /* looks for stop strings; NULL: there are none */
    char *shown;           /* [stream_max_bytes] what it shows; not used */
};

/* One token on its way to the host. */
struct handed {
    int slot;
    bool ended;
    enum finish finish;   /* when ended */
    struct sampled token; /* the stop token too; TOKEN_NONE with FINISH_ERROR: no page left */
};

struct device_loop {
    struct engine *engine;
    struct slot *slots; /* [n_slots], the caller's to fill between runs */
    int n_slots;
    /* From here on the loop's own. */
    int max_steps, max_handed;
    char *scratch; /* [threads][scratch_bytes] for draws */
    size_t scratch_bytes;
    struct handed *drawn; /* [n_slots] of this step */
    bool *picked;         /* [n_slots] in this step */
    struct handed *ring;  /* [max_handed], written by the device, read by the host */
    size_t n_written, n_read;
    _Alignas(64) atomic_size_t n_handed; /* what the host may read */
    _Alignas(64) atomic_int next;        /* slot to draw for */
    atomic_bool halt;
    int steps, steps_wanted, steps_held, device_iterations;
    bool until_ended, ended, leave;
};

/* n_slots at most e->max_seqs; all slots zeroed. */
int device_loop_init(struct device_loop *l, struct engine *e, int n_slots);
void device_loop_release(struct device_loop *l);
/*
 * Draw up to `steps` tokens for each live slot; sooner back when no slot is live, when
 * one has ended (until_ended), on an interrupt, after device_loop_halt or before the
 * ring could overflow. Tokens come to take, in the host's thread, each
 * device_iterations steps and at the end. Returns how many steps there were.
 */
int device_loop_run(struct device_loop *l, int steps, int device_iterations, bool until_ended,
                    void (*take)(void *user, const struct handed *h), void *user);
/* From take: no further steps. */
void device_loop_halt(struct device_loop *l);

#endif
