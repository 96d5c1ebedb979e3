#ifndef PRATTLE_SAMPLING_BATCH_H
#define PRATTLE_SAMPLING_BATCH_H
/*
 * Many prompts through a few slots: continuous batching. A slot is refilled as soon
 * as its text ends; prompts with a common beginning share its pages and compute it
 * once. Answers equal those of single runs, whatever the batch size.
 */
#include "kvcache/engine.h"
#include "sampling/text/request.h"

/* Filled by batch_host.next; what it points at lives until done. Zeroed before. */
struct batch_item {
    const char *text; /* the prompt, n bytes; NULL: ids */
    size_t n;
    const token_id *ids; /* [n_ids] */
    size_t n_ids;
    const struct sampler_config *sampler;   /* NULL: the batch's */
    const struct generate_config *generate; /* NULL: the batch's */
    bool own_draw; /* its sampler's draw is the very one, whatever its place */
    void *user;    /* the caller's own */
};

enum batch_next { BATCH_END = 0, BATCH_ITEM = 1, BATCH_LATER = 2 };

struct batch_host {
    /*
     * Next prompt: an enum batch_next, or an error code, which ends the batch when
     * all before it are done. BATCH_LATER: none yet, while texts are being written;
     * not when wait is true.
     */
    int (*next)(void *user, struct batch_item *item, bool wait);
    /* One item is done (in order of input), with answers [n], or rc and err_text().
     * Return non-zero to end (closed pipe). */
    int (*done)(void *user, const struct batch_item *item, int rc, struct answer *answers, int n);
    const struct progress *progress; /* step(done items, 0); notes */
    bool want_logprobs;
    void *user;
};

struct batch_stats {
    long n_prompts, n_prompt_tokens, n_reused_tokens, n_new_tokens;
    double wall_s, prefill_s, decode_s;
};

/*
 * Item i of the input (from 0) uses draw c->draw + i of its sampler's seed; where items have
 * several answers, c->draw + as many as there are answers before its own; with own_draw c->draw. An
 * item that cannot be done gives its error to done and the rest goes on. Non-zero: what next or
 * done returned, or ERR_INTERRUPTED (items being written are delivered first, with finish
 * interrupted).
 *
 * batch_size   texts at once, 1 .. engine's max_seqs
 */
int batch_run(struct engine *e, const struct generate_config *g, const struct sampler_config *c,
              int batch_size, const struct batch_host *host, struct batch_stats *stats);

#endif
