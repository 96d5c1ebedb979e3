#ifndef PRATTLE_SAMPLING_SCHEDULER_H
#define PRATTLE_SAMPLING_SCHEDULER_H
/*
 * Continuous batching: requests run in a few slots, and a slot is refilled as soon as its text
 * ends. Prompts with a common beginning share its pages and compute it once. One answer, several of
 * one prompt, the lines of a batch: all are prepared here and run in slots. A search uses no slot:
 * it has the engine to itself once all slots are idle.
 *
 * A batch gives the same bits as single runs: a row of a pass depends on its own text alone
 * (model/forward.h), each answer draws from its own random stream, and a single run is a batch of
 * one. Ctrl-C while prompts are read: a request's own sequence keeps the text it had
 * (kvcache/sequence.h); all answers end as interrupted, and those that had begun are delivered.
 */
#include "kvcache/sequence.h"
#include "sampling/text/request.h"

enum request_next { REQUEST_END = 0, REQUEST_READY = 1, REQUEST_LATER = 2 };

struct scheduler_callbacks {
    /*
     * Fill the next request, which is zeroed. Returns an enum request_next, or an error code, which
     * ends the run once all requests before it are done. REQUEST_LATER: there is none yet; only
     * while slots are busy (wait is false).
     */
    int (*next)(void *user, struct generate_request *request, bool wait);
    /* A request is done, in the order of input, with answers [n], or with rc and err_text(). Return
     * non-zero to end the run (a closed pipe). */
    int (*done)(void *user, const struct generate_request *request, int rc, struct answer *answers,
                int n);
    const struct progress *progress;       /* step(done requests, 0); notes */
    const struct generate_callbacks *live; /* told of texts as they are generated; NULL: none, and
                                         a status becomes a note of progress */
    bool want_logprobs;                    /* where live is NULL; else live's counts */
    void *user;
};

struct scheduler_stats {
    long n_prompts, n_prompt_tokens, n_reused_tokens, n_new_tokens;
    long n_drafted_tokens, n_accepted_tokens;
    double wall_s, prefill_s, decode_s;
};

/*
 * Run all requests. An answer uses draw c->draw + n of its sampler's seed, n being the number of
 * answers before it, where a failed request counts as one; with own_draw, those before it in its
 * own request. The error of a request goes to done, and the others continue. Returns 0, what next
 * or done returned, or ERR_INTERRUPTED, after delivering the requests in slots with
 * FINISH_INTERRUPTED.
 *
 * n_slots   texts at once, 1 .. engine's max_seqs
 */
int scheduler_run(struct engine *e, const struct generate_config *g, const struct sampler_config *c,
                  int n_slots, const struct scheduler_callbacks *callbacks,
                  struct scheduler_stats *stats);

#endif
