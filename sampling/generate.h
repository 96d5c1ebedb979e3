#ifndef PRATTLE_GENERATE_H
#define PRATTLE_GENERATE_H
/*
 * From a prompt to an answer, on one page: encode, feed, decode in the device loop,
 * stream. Greedy, sampling, beam and contrastive search, one or several answers.
 */
#include "kvcache/session.h"
#include "sampling/sampler.h"
#include "sampling/stream.h"

enum on_full { ON_FULL_STOP, ON_FULL_SLIDE };
enum early_stopping { EARLY_STOPPING_FALSE, EARLY_STOPPING_TRUE, EARLY_STOPPING_NEVER };

struct generate_config {
    int max_new_tokens;
    char *stop;            /* stop strings */
    char *stop_token;      /* an id or a token's text; "": the model's end of text */
    int on_full;           /* enum on_full */
    int device_iterations; /* tokens between hand-overs to the host */
    bool device_loop;
    int num_return_sequences;
    int num_beams;
    float length_penalty;
    int early_stopping;  /* enum early_stopping */
    float penalty_alpha; /* > 0 with top_k > 1: contrastive search */
    bool trim;           /* a trailing blank goes with the word that follows */
    bool special;        /* special tokens in the prompt count as such */
};
void generate_config_init(struct generate_config *c); /* 128 new tokens */

enum finish {
    FINISH_LENGTH,
    FINISH_STOP_TOKEN,
    FINISH_STOP_STRING,
    FINISH_CONTEXT,
    FINISH_INTERRUPTED,
    FINISH_ERROR
};
const char *finish_name(enum finish f); /* "length", "stop", ... */

/* One answer. */
struct answer {
    struct ids ids;  /* new tokens, without the stop token */
    float *logprobs; /* [ids.n] when asked for, else NULL */
    struct buf text; /* as streamed */
    enum finish finish;
    double score; /* beam search: the sequence's score */
    int n_prompt; /* prompt tokens, of which n_reused came from the cache */
    int n_reused;
    double prefill_s, decode_s;
};
void answer_release(struct answer *a);

/* What the host sees while it goes on; any may be NULL. Called by the host's thread. */
struct generate_host {
    void (*text)(void *user, int answer, const char *bytes, size_t n);
    void (*status)(void *user, const char *sentence); /* "context full: ..." */
    const struct progress *progress;
    bool want_logprobs;
    void *user;
};

/*
 * The session's text is the prompt already (session_set done by the caller, through
 * generate_prompt below); the answer is appended to it (the first one, when several).
 * answers [num_return_sequences], zeroed. ERR_INTERRUPTED: what was made is there and
 * finish says so.
 */
int generate(struct session *s, const struct generate_config *g, const struct sampler_config *c,
             const struct generate_host *host, struct answer *answers);

/* Encode a prompt as generation wants it: *held_blank is the trailing blank that was
 * taken off (trim), which the answer's first token must then begin with. */
int generate_prompt(const struct model *m, const struct generate_config *g, const char *text,
                    size_t n, struct ids *out, bool *held_blank);

#endif
