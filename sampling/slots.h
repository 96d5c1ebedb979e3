#ifndef PRATTLE_SAMPLING_SLOTS_H
#define PRATTLE_SAMPLING_SLOTS_H
/*
 * The scheduler's slots: the host's side of the device loop. Each makes one answer at a
 * time, with a sequence, a sampler and a stream.
 */
#include "sampling/device_loop.h"
#include "sampling/text/prompt.h"

/* One answer to make. */
struct sample {
    const token_id *ids; /* [n_ids] what it goes on from, as prompt_fit leaves it; copied */
    size_t n_ids;
    struct sequence *read; /* has read exactly these, and has the logits; NULL: none */
    bool in_place;         /* it goes on in `read` itself; ids are not used */
    bool held_blank;
    const struct generate_config *generate; /* device_loop, device_iterations: the slots' */
    const struct sampler_config *sampler;
    int64_t draw;
    struct answer *answer;
    int index;   /* for host->text */
    void *owner; /* the caller's own */
};

/* What the host keeps of one. Its sequence keeps what was read after the end, so that later
 * texts can share it. */
struct slot {
    struct decode_slot *decode; /* the loop's side of it; its sequence is own or sample.read */
    struct sample sample;
    bool busy, unread, ended;
    enum finish finish;
    int rc;              /* why it could not go on: the text of finish error */
    struct sequence own; /* made when first needed */
    struct sampler *sampler;
    struct stop_strings *stops;
    struct stream stream;
    size_t bytes; /* of decode->bytes */
    bool kept;    /* sampler and stream are those of the slots' own settings */
    size_t logprobs_cap;
    double since_s; /* decoding began */
};

struct slots {
    struct engine *engine;
    const struct generate_config *generate;
    const struct sampler_config *sampler;
    const struct generate_host *host;
    /* A text has ended; rc and err_text() say why if it could not go on. Non-zero ends
     * slots_step with it. */
    int (*ended)(void *user, const struct slot *slot, int rc);
    void *user;
    struct device_loop loop;
    struct slot *list; /* [n] */
    struct engine_feed *feeds;
    int *fed; /* [n] the slots of feeds */
    int n, n_busy;
    int failed; /* code of a token event that could not be taken */
    bool slid_said;
    double prefill_s, decode_s;
};

/* generate and sampler: the settings most samples will have; kept, and prepared once. */
int slots_init(struct slots *s, struct engine *e, int n, const struct generate_config *g,
               const struct sampler_config *c, const struct generate_host *host);
void slots_release(struct slots *s);
/* Take a free slot (n_busy < n) for a sample. On failure nothing has begun. */
int slots_start(struct slots *s, const struct sample *sample);
/*
 * Read what is unread, then decode until a text ends, at most `steps` steps.
 * ERR_INTERRUPTED: all texts were ended as interrupted.
 */
int slots_step(struct slots *s, int steps);
/* Give all pages back. n_busy is 0. */
void slots_clear(struct slots *s);

#endif
