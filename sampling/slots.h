#ifndef PRATTLE_SAMPLING_SLOTS_H
#define PRATTLE_SAMPLING_SLOTS_H
/*
 * The scheduler's slots: the caller's side of the device loop. Each generates one answer at a time,
 * with a sequence, a sampler and a stream.
 */
#include "kvcache/sequence.h"
#include "sampling/chain/sampler.h"
#include "sampling/text/listener.h"

/* One answer to generate. */
struct sample {
    const token_id *ids; /* [n_ids] the prompt, as prompt_fit leaves it; copied */
    size_t n_ids;
    struct sequence *read; /* has exactly this text and its logits; NULL: none */
    bool in_place;         /* the answer extends `read` itself; ids are not used */
    bool held_space;
    const struct generate_config *generate; /* but device_loop and device_iterations: the slots' */
    const struct sampler_config *sampler;
    int64_t draw;
    struct answer *answer;
    int number; /* within its request, for the listener */
    /* Called when the answer has ended; rc and err_text() if it failed. */
    void (*ended)(void *owner, int rc);
    void *owner; /* the caller's own */
};

/* Seconds spent so far. */
struct slots_times {
    double prefill_s, decode_s;
};

struct slots;

/* g and c: the settings of most samples, for which sampler and speller are made once. All are
 * borrowed.
 */
int slots_new(struct slots **out, struct engine *e, int n, const struct generate_config *g,
              const struct sampler_config *c, struct listener *listener);
void slots_free(struct slots *s);
/* How many slots are busy, and whether one is free. NULL, before any were needed: none, and yes. */
int slots_busy(const struct slots *s);
bool slots_room(const struct slots *s);
struct slots_times slots_times(const struct slots *s);
/* Start a sample in a free slot, which must exist. On failure nothing has begun. */
int slots_start(struct slots *s, const struct sample *sample);
/*
 * Read what is unread, then decode until a text ends, at most `steps` steps. ERR_INTERRUPTED: all
 * texts have ended as interrupted.
 */
int slots_step(struct slots *s, int steps);
/* Give back all pages. No slot may be busy. */
void slots_clear(struct slots *s);

#endif
