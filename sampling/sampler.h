#ifndef PRATTLE_SAMPLER_H
#define PRATTLE_SAMPLER_H
/*
 * Logits -> token: a chain of stages whose order is a setting. Each stage is pure (it
 * looks at the candidates, its own settings and the text) and lives with its kin in
 * filters.c, penalties.c or mirostat.c. Nothing here allocates after sampler_init.
 *
 * A draw depends on (seed, draw, position) alone.
 */
#include "model/config.h"

#include <stddef.h>
#include <stdint.h>

struct logit_bias {
    token_id id;
    float bias;
};

struct sampler_config {
    char *chain;       /* stage names separated by commas, in order of use; owned by settings */
    float temperature; /* 0 = greedy */
    float dynatemp_range, dynatemp_exponent;
    int top_k;                     /* 0 = off */
    float top_p, min_p, typical_p; /* 1, 0, 1 = off */
    float top_n_sigma;             /* 0 = off */
    float xtc_probability, xtc_threshold;
    int mirostat; /* 0, 1, 2 */
    float mirostat_tau, mirostat_eta;
    float repetition_penalty, frequency_penalty, presence_penalty;
    int penalty_window; /* newest tokens looked at; 0 = off, -1 = all */
    float dry_multiplier, dry_base;
    int dry_allowed_length, dry_window;
    char *dry_breakers;       /* sequence breakers, separated by commas, C escapes */
    int no_repeat_ngram_size; /* 0 = off */
    char *logit_bias;         /* "id:bias,id:bias", as text */
    char *bad_words;          /* words separated by commas, C escapes */
    bool topk_uniform;        /* S1's rule: uniform among the top_k */
    int min_new_tokens;
    bool ignore_eos;
    uint64_t seed; /* 0: a fresh one each run, chosen and shown by repl/ */
    int64_t draw;  /* which draw of the seed */
};
void sampler_config_init(struct sampler_config *c); /* mission.md: temperature 0.8, top_p 0.95 */

struct tokenizer;
struct sampler;

/* Parses chain, biases and bad words once; n_vocab logits; texts up to n_ctx tokens.
 * tokenizer may be NULL (then words in settings are refused). */
int sampler_new(struct sampler **out, const struct sampler_config *c, int n_vocab, int n_ctx,
                const struct tokenizer *t, token_id eos);
void sampler_free(struct sampler *s);
/* Back to the state before the first draw, for draw number `draw` (mirostat's mu, DRY). */
void sampler_reset(struct sampler *s, int64_t draw);

/* What was drawn, for :why and log-probabilities. */
struct sampled {
    token_id id;
    float logprob;       /* under the model: log softmax of the raw logits; NaN if not asked */
    float chain_logprob; /* under the chain it was drawn from */
};
/*
 * Draw the next token. logits [V] are not changed. text: all ids so far, of which the
 * last n_new were generated; the draw's position is n_new. Called by one thread.
 * If everything was filtered away, the most likely token of the raw logits is taken.
 */
struct sampled sampler_pick(struct sampler *s, const float *logits, const token_id *text,
                            size_t n_text, int n_new);
/* What :why shows: the chain's distribution at this point, most likely first, with
 * the raw rank and probability of each; at most max entries. Changes nothing else. */
struct alternative {
    token_id id;
    int rank;
    float p_model, p_chain;
};
int sampler_explain(struct sampler *s, const float *logits, const token_id *text, size_t n_text,
                    int n_new, token_id chosen, struct alternative *chosen_out,
                    struct alternative *out, int max);
/* Ask sampler_pick for logprob (a pass over V). */
void sampler_want_logprobs(struct sampler *s, bool on);

#endif
