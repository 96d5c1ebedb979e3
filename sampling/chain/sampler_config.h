#ifndef PRATTLE_SAMPLING_CHAIN_SAMPLER_CONFIG_H
#define PRATTLE_SAMPLING_CHAIN_SAMPLER_CONFIG_H
/*
 * The settings of the sampler (sampler.h says what they do).
 */
#include "sampling/chain/stages.h"

#include <stdbool.h>
#include <stdint.h>

#define SAMPLER_DRY_BREAKERS "\\n,:,\",*"

struct sampler_config {
    char *chain;       /* stage names separated by commas, in order of use; NULL: SAMPLER_CHAIN */
    float temperature; /* 0 = greedy */
    float dynatemp_range, dynatemp_exponent; /* temperature +- range by entropy; 0 = off */
    int top_k;                               /* 0 = off */
    float top_p, min_p, typical_p;           /* 1, 0, 1 = off */
    float top_n_sigma;                       /* 0 = off */
    float xtc_probability, xtc_threshold;
    int mirostat; /* 0 = off, 1, 2: the version */
    float mirostat_tau, mirostat_eta;
    float repetition_penalty, frequency_penalty, presence_penalty; /* 1, 0, 0 = off */
    int penalty_window;                 /* of the newest ids, the prompt's too; 0 = off, -1 = all */
    float dry_multiplier, dry_base;     /* 0 = off */
    int dry_allowed_length, dry_window; /* window as penalty_window */
    char *dry_breakers;       /* as model/base/words.h reads them; NULL: SAMPLER_DRY_BREAKERS */
    int no_repeat_ngram_size; /* 0 = off */
    char *logit_bias;         /* "id:bias,id:bias"; -inf bans a token */
    char *bad_words;          /* words, as model/base/words.h reads them */
    char *grammar;            /* what an answer must match (sampling/grammar/source.h) */
    bool topk_uniform;        /* uniform among the top_k (all with top_k 0) */
    int min_new_tokens;       /* the stop tokens are banned before */
    bool ignore_eos;          /* the stop tokens are banned always */
    uint64_t seed;            /* 0: a fresh one each run, chosen and shown by repl/ */
    int64_t draw;             /* which draw of the seed */
    int64_t position;         /* of an answer's first token in the draw: 0, or where the answer
                                 ended that this one goes on from; no setting */
    struct {
        int n;           /* ids at the end of the prompt that the grammar has read, since the answer
                            goes on from there */
        bool skip_space; /* of the first of them, as of an answer's (sampler_reset) */
    } grammar_read;      /* no setting */
};
/* temperature 0.8, top_p 0.95. Strings are NULL, which means their defaults. */
void sampler_config_init(struct sampler_config *c);
/* ERR_RANGE names the setting, its value and its range. Words, ids and stages are checked as far as
 * is possible without a model. */
int sampler_config_check(const struct sampler_config *c);

#endif
