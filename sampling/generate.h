#ifndef PRATTLE_SAMPLING_GENERATE_H
#define PRATTLE_SAMPLING_GENERATE_H
/*
 * From a prompt to an answer, on one page: encode, feed, decode in the device loop,
 * stream. Greedy, sampling, beam and contrastive search, one or several answers.
 */
#include "kvcache/sequence.h"
#include "sampling/device_loop.h"
#include "sampling/text/prompt.h"

enum on_full { ON_FULL_STOP, ON_FULL_SLIDE };
enum early_stopping { EARLY_STOPPING_FALSE, EARLY_STOPPING_TRUE, EARLY_STOPPING_NEVER };

struct generate_config {
    int max_new_tokens;
    char *stop;            /* stop strings, as words_parse reads them; owned by settings */
    char *stop_token;      /* ids or tokens' texts, as words_parse reads them; "" or NULL: the
                              model's end of text */
    int on_full;           /* enum on_full */
    int device_iterations; /* tokens between hand-overs to the host */
    bool device_loop;
    int num_return_sequences;
    int num_beams;
    float length_penalty;
    int early_stopping;  /* enum early_stopping */
    float penalty_alpha; /* > 0 with top_k > 1: contrastive search */
    bool begin;          /* a text begins with the token that begins texts */
    bool trim;           /* a trailing blank goes with the word that follows */
    bool special;        /* special tokens in the prompt count as such */
};
void generate_config_init(struct generate_config *c); /* 128 new tokens, trim, the device loop */
/* Ranges, and settings that exclude each other; ERR_RANGE names the setting. */
int generate_config_check(const struct generate_config *g, const struct sampler_config *c);
/* The last of these alone; *out then names two settings that exclude each other. Where a model
 * brings both, the first gives way, as in transformers: beams come before contrastive search. */
struct generate_odds {
    const char *yields, *to;
};
int generate_config_odds(struct generate_odds *out, const struct generate_config *g,
                         const struct sampler_config *c);
/* How many texts one prompt keeps in the engine at once: samples, beams or top_k. */
int generate_texts(const struct generate_config *g, const struct sampler_config *c);
/* The tokens that end a text, if any. ERR_RANGE: stop_token names what is no token. */
int generate_stop_tokens(struct stop_tokens *out, const struct generate_config *g,
                         const struct model *m);

/* One answer. */
struct answer {
    struct ids ids;  /* new tokens, without the stop token */
    float *logprobs; /* [ids.n] when asked for, else NULL */
    struct buf text; /* as streamed: a held blank is not in it, nor the stop string */
    enum finish finish;
    double score; /* beam search: the sequence's score */
    int n_prompt; /* prompt tokens in the context, of which n_reused came from the cache */
    int n_reused;
    bool slid;        /* the context was full, and its newest half was read again */
    double prefill_s; /* reading the prompt */
    double decode_s;  /* making the tokens; of several answers together */
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
 * Go on from a prompt, or with prompt NULL from the session's text as it stands. An
 * empty text begins with the model's begin token. The session's text becomes prompt +
 * the first answer. Answer k uses draw c->draw + k.
 *
 * answers [num_return_sequences], zeroed; to be released also after an error.
 * ERR_FULL: the prompt does not fit and on_full is stop; the session is unchanged.
 * ERR_INTERRUPTED: what was made is in answers, and their finish says so.
 */
int generate(struct session *s, const struct prompt *prompt, const struct generate_config *g,
             const struct sampler_config *c, const struct generate_host *host,
             struct answer *answers);

#endif
