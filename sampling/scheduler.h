#ifndef PRATTLE_SAMPLING_SCHEDULER_H
#define PRATTLE_SAMPLING_SCHEDULER_H
/*
 * Requests through a few slots: continuous batching. A slot is refilled as soon as its text ends;
 * prompts with a common beginning share its pages and compute it once. One answer, several of one
 * prompt, the lines of a batch: each prompt is prepared here and passes the slots. A search passes
 * none: it has the engine to itself once all slots are idle.
 *
 * A batch gives the bits of single runs: a row of a pass depends on its own text alone
 * (model/forward.h), each answer draws from a random stream of its own, and a single run is a
 * batch of one. Ctrl-C while prompts are read: what a request's own sequence was to read is
 * given up, and it has the text it had (kvcache/sequence.h); answers end as interrupted, and those begun are delivered.
 */
#include "kvcache/sequence.h"
#include "sampling/text/request.h"

enum request_next { REQUEST_END = 0, REQUEST_READY = 1, REQUEST_LATER = 2 };

struct scheduler_callbacks {
    /*
     * Next request, zeroed before: an enum request_next, or an error code, which ends the run
     * when all before it are done. REQUEST_LATER: none yet, while texts are being written; not when
     * wait is true.
     */
    int (*next)(void *user, struct generate_request *request, bool wait);
    /* One request is done (in order of input), with answers [n], or rc and err_text().
     * Return non-zero to end (closed pipe). */
    int (*done)(void *user, const struct generate_request *request, int rc, struct answer *answers,
                int n);
    const struct progress *progress;       /* step(done requests, 0); notes */
    const struct generate_callbacks *live; /* what goes on in the texts; NULL: nobody listens, and a
                                         status becomes a note of progress */
    bool want_logprobs;                    /* without live, which says so itself */
    void *user;
};

struct scheduler_stats {
    long n_prompts, n_prompt_tokens, n_reused_tokens, n_new_tokens;
    double wall_s, prefill_s, decode_s;
};

/*
 * Request i of the input (from 0) uses draw c->draw + i of its sampler's seed; where requests have
 * several answers, c->draw + as many as there are answers before its own; with own_draw c->draw. A
 * request that cannot be done gives its error to done and the rest goes on. Non-zero: what next or
 * done returned, or ERR_INTERRUPTED (requests being written are delivered first, with finish
 * interrupted).
 *
 * n_slots   texts at once, 1 .. engine's max_seqs
 */
int scheduler_run(struct engine *e, const struct generate_config *g, const struct sampler_config *c,
                  int n_slots, const struct scheduler_callbacks *callbacks,
                  struct scheduler_stats *stats);

#endif
