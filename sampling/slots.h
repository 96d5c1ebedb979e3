#ifndef PRATTLE_SAMPLING_SLOTS_H
#define PRATTLE_SAMPLING_SLOTS_H
/*
 * The host's side of the device loop: a few places where texts are written, each with
 * its cache, sampler and streams. Single answers, samples of one prompt and batches
 * all pass here, so that they cannot differ.
 */
#include "sampling/device_loop.h"
#include "kvcache/sequence.h"
#include "sampling/text/prompt.h"

/* One text to write. */
struct writing {
    const token_id *ids; /* [n_ids] what it goes on from, as prompt_fit leaves it; copied */
    int n_ids;
    bool held_blank;
    const struct generate_config *generate; /* device_loop, device_iterations: the slots' */
    const struct sampler_config *sampler;
    int64_t draw;
    const struct sequence *read; /* has read exactly ids, and has the logits; NULL: none */
    struct answer *answer;
    int index;   /* for host->text */
    void *owner; /* the caller's own */
};

/* What the host keeps of one slot. text and seq agree on seq.n ids also after the end,
 * so that later texts can share them. */
struct desk {
    struct slot *slot; /* the device's side of it */
    struct writing writing;
    bool busy, unread, ended;
    enum finish finish;
    struct kv_seq seq;
    token_id *text; /* [n_ctx + 1] */
    struct sampler *sampler;
    struct stop_strings *stops;
    bool kept;                    /* sampler and streams are those of the slots' own settings */
    struct stream shown, watched; /* the host's, and the device's that looks for stops */
    char *bytes;                  /* [2][stream_max_bytes] */
    size_t logprobs_cap;
    double since_s; /* decoding began */
};

struct slots {
    struct engine *engine;
    const struct generate_config *generate;
    const struct sampler_config *sampler;
    const struct generate_host *host;
    /* A text has ended; its desk can be looked at. Non-zero ends slots_step with it. */
    int (*ended)(void *user, const struct desk *d);
    void *user;
    struct device_loop loop;
    struct desk *desks; /* [n] */
    struct engine_feed *feeds;
    int *fed; /* [n] the desks of feeds */
    int n, n_busy;
    int failed; /* code of a take that failed */
    bool slid_said;
    double prefill_s, decode_s;
};

/* generate and sampler: the settings most writings will have; kept, and prepared once. */
int slots_init(struct slots *s, struct engine *e, int n, const struct generate_config *g,
               const struct sampler_config *c, const struct generate_host *host);
void slots_release(struct slots *s);
/* Take a free slot (n_busy < n) for a writing. On failure nothing has begun. */
int slots_start(struct slots *s, const struct writing *w);
/*
 * Read what is unread, then decode until a text ends, at most `steps` steps.
 * ERR_INTERRUPTED: all texts were ended as interrupted.
 */
int slots_step(struct slots *s, int steps);
/* Give all pages back. n_busy is 0. */
void slots_clear(struct slots *s);

#endif
