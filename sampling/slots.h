#ifndef PRATTLE_SAMPLING_SLOTS_H
#define PRATTLE_SAMPLING_SLOTS_H
/*
 * The scheduler's slots: the caller's side of the device loop. Each makes one answer at a
 * time, with a sequence, a sampler and a stream.
 */
#include "kvcache/sequence.h"
#include "sampling/chain/sampler.h"
#include "sampling/text/listener.h"

/* One answer to make. */
struct sample {
    const token_id *ids; /* [n_ids] what it goes on from, as prompt_fit leaves it; copied */
    size_t n_ids;
    struct sequence *read; /* has read exactly these, and has the logits; NULL: none */
    bool in_place;         /* it goes on in `read` itself; ids are not used */
    bool held_space;
    const struct generate_config *generate; /* device_loop, device_iterations: the slots' */
    const struct sampler_config *sampler;
    int64_t draw;
    struct answer *answer;
    int number; /* of its request's, for the listener */
    /* The answer is made; rc and err_text() say why if it could not go on. */
    void (*ended)(void *owner, int rc);
    void *owner; /* the caller's own */
};

/* Seconds spent so far. */
struct slots_times {
    double prefill_s, decode_s;
};

struct slots;

/* g and c: the settings most samples will have, prepared once. All are borrowed. */
int slots_new(struct slots **out, struct engine *e, int n, const struct generate_config *g,
              const struct sampler_config *c, struct listener *listener);
void slots_free(struct slots *s);
/* How many are at work, and whether one is free; of NULL, where none were needed so far, none is
 * and all are. */
int slots_busy(const struct slots *s);
bool slots_room(const struct slots *s);
struct slots_times slots_times(const struct slots *s);
/* Take a free slot for a sample. On failure nothing has begun. */
int slots_start(struct slots *s, const struct sample *sample);
/*
 * Read what is unread, then decode until a text ends, at most `steps` steps.
 * ERR_INTERRUPTED: all texts were ended as interrupted.
 */
int slots_step(struct slots *s, int steps);
/* Give all pages back. None is busy. */
void slots_clear(struct slots *s);

#endif
