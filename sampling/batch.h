#ifndef PRATTLE_BATCH_H
#define PRATTLE_BATCH_H
/*
 * Many prompts through a few slots: continuous batching. A slot is refilled as soon
 * as its text ends; prompts with a common beginning share its pages. Answers equal
 * those of single runs, whatever the batch size.
 */
#include "sampling/generate.h"

struct batch_item {
    char *prompt;
    size_t n;                             /* text, or ids below */
    struct ids ids;                       /* used when prompt is NULL */
    const struct sampler_config *sampler; /* NULL: the batch's; draw is set to the line's number */
    const struct generate_config *generate;
    int64_t draw;
    void *user;
};

struct batch_host {
    /* Next prompt: 1, or 0 at the end of input, or a code. May block. */
    int (*next)(void *user, struct batch_item *item);
    /* One item is done (in order of input). Return non-zero to end (closed pipe). */
    int (*done)(void *user, struct batch_item *item, int rc, struct answer *answers, int n);
    const struct progress *progress;
    bool want_logprobs;
    void *user;
};

struct batch_stats {
    long n_prompts, n_prompt_tokens, n_new_tokens;
    double wall_s, decode_s;
};

int batch_run(struct engine *e, const struct generate_config *g, const struct sampler_config *c,
              int batch_size, const struct batch_host *host, struct batch_stats *stats);

#endif
