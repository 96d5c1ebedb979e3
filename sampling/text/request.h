#ifndef PRATTLE_SAMPLING_TEXT_REQUEST_H
#define PRATTLE_SAMPLING_TEXT_REQUEST_H
/*
 * Requests and answers: the settings of generation, a request, its answers, and the callbacks
 * meanwhile. The searches, the scheduler and generate share these.
 */
#include "model/base/buf.h"
#include "model/base/progress.h"
#include "model/model.h"
#include "sampling/chain/sampler.h"

enum on_full { ON_FULL_STOP, ON_FULL_SLIDE };
enum speculate { SPECULATE_AUTO, SPECULATE_OFF, SPECULATE_LOOKUP, SPECULATE_MODEL };
enum early_stopping { EARLY_STOPPING_FALSE, EARLY_STOPPING_TRUE, EARLY_STOPPING_NEVER };

struct generate_config {
    int max_new_tokens;
    char *stop;            /* stop strings, as words_parse reads them; owned by settings */
    char *stop_token;      /* ids or tokens' texts, as words_parse reads them; "" or NULL: the
                              model's end of text */
    int on_full;           /* enum on_full */
    int device_iterations; /* steps between emitting tokens to the caller */
    bool device_loop;
    char *speculate; /* how to draft (speculate_of); owned by settings */
    int num_return_sequences;
    int num_beams;
    float length_penalty;
    int early_stopping;  /* enum early_stopping */
    float penalty_alpha; /* > 0 with top_k > 1: contrastive search */
    char *template;      /* what is read for a prompt (template.h); "" or NULL: it alone; owned by
                            settings */
    bool begin;          /* a prompt begins with the begin token */
    bool trim;           /* a trailing space joins the next word */
    bool special;        /* special tokens in the prompt are encoded as such */
};
void generate_config_init(struct generate_config *c); /* 128 new tokens, trim, the device loop */
/* What the text of the setting means (sampling/draft.h): NULL is auto, and a text that is none of
 * speculate_name's, the path of a model. */
enum speculate speculate_of(const char *text);
/* "auto", "off", "lookup"; NULL past the last. */
const char *speculate_name(int how);
/* Ranges, and settings that exclude each other; ERR_RANGE names the setting. */
int generate_config_check(const struct generate_config *g, const struct sampler_config *c);
/* Two settings that exclude each other. Where a model brings both, the first gives way, as in
 * transformers: beams come before contrastive search. */
struct generate_odds {
    const char *yields, *to;
};
/* The first two that do, NULL: none; and the sentence about such two, ERR_RANGE. */
const struct generate_odds *generate_config_odds(const struct generate_config *g,
                                                 const struct sampler_config *c);
int generate_odds_refuse(const struct generate_odds *odds, const struct generate_config *g,
                         const struct sampler_config *c);
/* How many texts one request has in the engine at once: samples, beams or top_k. */
int generate_texts(const struct generate_config *g, const struct sampler_config *c);
/* The tokens that end a text: those of stop_token, or else the model's. ERR_RANGE: stop_token names
 * none of the vocabulary. */
int generate_stop_tokens(struct stop_tokens *out, const struct generate_config *g,
                         const struct model *m);

/* How an answer ended. */
enum finish {
    FINISH_LENGTH,
    FINISH_STOP_TOKEN,
    FINISH_STOP_STRING,
    FINISH_GRAMMAR,  /* the text matches its grammar and no token may follow */
    FINISH_NO_TOKEN, /* none may follow, and it does not match: something else bans what would */
    FINISH_CONTEXT,
    FINISH_INTERRUPTED,
    FINISH_ERROR
};
/* Where a grammar left no token; SAMPLER_GOES_ON is none of them. */
enum finish finish_of(enum sampler_end end);
const char *finish_name(enum finish f); /* "length", "stop token", "stop string", ... */

/* One answer. */
struct answer {
    struct ids ids;  /* new tokens, without the stop token, including those a stop string hid */
    float *logprobs; /* [ids.n] when asked for, else NULL */
    struct buf text; /* as streamed: without a held space and without the stop string */
    enum finish finish;
    size_t n_whole, n_part; /* after a stop string: whole ids, and bytes of the next, in text */
    double score;           /* beam search: the sequence's score */
    int n_prompt; /* prompt tokens in the context, of which n_reused came from the cache */
    int n_reused;
    int n_drafted; /* tokens proposed by lookup and verified, of which n_accepted were drawn */
    int n_accepted;
    bool unread;      /* the prompt was not read to its end, and the sequence is unchanged */
    bool slid;        /* the context was full and slid */
    double prefill_s; /* reading the prompt */
    double decode_s;  /* generating tokens; of all answers together where they share it */
};
/* Append a token, and to the log-probabilities one, unless it is NULL, as always or never before.
 * ERR_NOMEM. */
int answer_add(struct answer *a, token_id id, const float *logprob);
void answer_release(struct answer *a);

/*
 * A request to the scheduler; zero means the default. What it points to must live until the request
 * is done.
 */
struct sequence;
struct generate_request {
    const char *text; /* the prompt, n bytes; NULL: ids */
    size_t n;
    const token_id *ids; /* [n_ids]; may be the sequence's own */
    size_t n_ids;
    bool held_space;           /* of ids: the answer's first token begins with a space (prompt.h) */
    struct sequence *sequence; /* its text becomes the prompt and the first answer, of which it
                                  reads what is new; NULL: one of the scheduler's */
    const struct sampler_config *sampler;   /* NULL: the scheduler's */
    const struct generate_config *generate; /* NULL: the scheduler's */
    bool own_draw;  /* the draw is its sampler's, whatever its position in the input */
    bool elsewhere; /* it is only counted: its answers, of which others draw differently, stay empty
                     */
    struct answer *answers; /* [num_return_sequences], the caller's; NULL: the scheduler's */
    int rc;                 /* not 0: it fails with this code and the message error, in its turn */
    const char *error;
    int64_t draw; /* which its first answer is, once the scheduler has taken it */
    void *user;   /* the caller's own */
};

/* Called in the caller's thread while answers are generated; any may be NULL. */
struct generate_callbacks {
    void (*text)(void *user, int answer, const char *bytes, size_t n);
    void (*status)(void *user, const char *sentence); /* "context full: ..." */
    const struct progress *progress;
    bool want_logprobs;
    void *user;
};

#endif
