#include "sampling/chain/sampler.h"

#include "model/base/err.h"
#include "model/base/rng.h"
#include "model/base/words.h"
#include "model/kernels/log_sum_exp.h"
#include "model/kernels/sampling_kernels.h"
#include "model/tokenizer/tokenizer.h"
#include "sampling/chain/bias.h"
#include "sampling/chain/candidates.h"
#include "sampling/chain/stages.h"
#include "sampling/chain/dry.h"
#include "sampling/chain/filters.h"
#include "sampling/chain/mirostat.h"
#include "sampling/chain/penalties.h"
#include "sampling/grammar/follower.h"
#include "sampling/grammar/matcher.h"

#include <float.h>
#include <math.h>
#include <string.h>

/*
 * One draw:
 *
 *     logits [V]
 *       candidates_start      all tokens are candidates, with these logits
 *       stages in order       adjust_logits: change logits by token (bias, penalties, DRY, bans)
 *                             run_filter:    scale logits or shorten the list
 *       candidates_weigh      weights exp(logit - max) and their sum
 *       candidates_draw(u)    the candidate at which the running sum of weights passes u
 *
 * `chain` has only the stages whose settings have an effect (is_stage_on). Temperature 0 takes the
 * highest logit instead of drawing; so does a list that the stages left empty, of the raw logits.
 * Of the random words at (seed, draw, position) the first two make u and the third decides XTC. The
 * only state that a draw leaves behind is Mirostat's mu. Struct and scratch are one allocation;
 * sampler_use exchanges the scratch.
 */

struct sampler {
    struct sampler_config config; /* its strings are not used after sampler_new */
    struct chain chain;           /* the stages that do something, in order */
    struct biases biases;
    struct phrases bad_words;
    struct dry dry;
    struct follower *grammar; /* NULL: none */
    struct mirostat mirostat;
    struct candidates candidates;
    int *count; /* [V] scratch of the penalties, zero between calls */
    int n_ctx;
    struct stop_tokens stop; /* below n_vocab */
    bool want_logprobs;
    int failed; /* of the grammar, in the last draw */
};

/* Where in which text a token is to be drawn. */
struct text_position {
    const token_id *text;
    size_t n_text;
    int n_new;
};

/* ---- setting up ---- */

static bool is_stage_on(const struct sampler *s, enum stage stage)
{
    const struct sampler_config *c = &s->config;
    bool cuts = c->temperature > 0 && c->mirostat == 0;
    switch (stage) {
    case STAGE_LOGIT_BIAS:
        return s->biases.n > 0;
    case STAGE_PENALTIES:
        return c->penalty_window != 0 && (c->repetition_penalty != 1 || c->frequency_penalty != 0 ||
                                          c->presence_penalty != 0);
    case STAGE_DRY:
        return c->dry_multiplier > 0 && c->dry_window != 0;
    case STAGE_NO_REPEAT_NGRAM:
        return c->no_repeat_ngram_size > 0;
    case STAGE_BAD_WORDS:
        return s->bad_words.n > 0;
    case STAGE_MIN_NEW_TOKENS:
        return s->stop.n > 0 && (c->ignore_eos || c->min_new_tokens > 0);
    case STAGE_GRAMMAR:
        return s->grammar != NULL;
    case STAGE_TEMPERATURE:
        return c->temperature > 0 && (c->temperature != 1 || c->dynatemp_range > 0);
    case STAGE_TOP_K:
        return cuts && c->top_k > 0 && !c->topk_uniform;
    case STAGE_TOP_P:
        return cuts && c->top_p < 1;
    case STAGE_MIN_P:
        return cuts && c->min_p > 0;
    case STAGE_TYPICAL_P:
        return cuts && c->typical_p < 1;
    case STAGE_TOP_N_SIGMA:
        return cuts && c->top_n_sigma > 0;
    case STAGE_XTC:
        return cuts && c->xtc_probability > 0;
    case STAGE_TOPK_UNIFORM:
        return cuts && c->topk_uniform;
    case STAGE_MIROSTAT:
        return c->temperature > 0 && c->mirostat > 0;
    case STAGE_COUNT:
        break;
    }
    return false;
}

/* A phrase with a token for which the model has no logits cannot occur. */
static int add_phrase(struct sampler *s, const struct ids *ids)
{
    for (size_t i = 0; i < ids->n; i++)
        if (ids->data[i] >= s->candidates.n_vocab)
            return 0;
    return phrases_add(&s->bad_words, ids->data, ids->n);
}

/* Ban a word as it is and, unless it begins with a space, with a space before it. */
static int add_bad_word(struct sampler *s, const struct word *w, const struct tokenizer *t)
{
    struct buf with_space = {0};
    struct ids ids = {0};
    int rc = tokenizer_encode(t, &ids, w->bytes, w->n, ENCODE_SPECIAL | ENCODE_GOES_ON);
    if (rc == 0)
        rc = add_phrase(s, &ids);
    if (rc == 0 && w->bytes[0] != ' ') {
        ids.n = 0;
        if ((rc = buf_char(&with_space, ' ')) == 0 &&
            (rc = buf_add(&with_space, w->bytes, w->n)) == 0 &&
            (rc = tokenizer_encode(t, &ids, with_space.data, with_space.n, ENCODE_TEXT)) == 0)
            rc = add_phrase(s, &ids);
        else if (rc == ERR_RANGE)
            rc = 0; /* a vocabulary without a space cannot say it that way */
    }
    ids_release(&ids);
    buf_release(&with_space);
    return rc;
}

static int parse_words(struct sampler *s, const struct tokenizer *t)
{
    const char *breakers = s->config.dry_breakers;
    struct words words = {0};
    int rc = words_parse(&words, s->config.bad_words);
    if (rc == 0 && words.n && !t)
        rc = err_set(ERR_UNSUPPORTED, "bad_words needs a tokenizer, and this model has none");
    for (size_t i = 0; rc == 0 && i < words.n; i++)
        if ((rc = add_bad_word(s, &words.list[i], t)))
            rc = err_wrap("bad_words");
    words_release(&words);
    if (rc == 0 && s->config.dry_multiplier > 0) {
        rc = words_parse(&words, breakers ? breakers : SAMPLER_DRY_BREAKERS);
        if (rc == 0)
            rc = dry_init(&s->dry, &words, t, s->candidates.n_vocab);
        words_release(&words);
    }
    return rc;
}

static int start_grammar(struct sampler *s, const struct tokenizer *t)
{
    const char *text = s->config.grammar;
    if (text == NULL || *text == '\0')
        return 0;
    if (t == NULL)
        return err_set(ERR_UNSUPPORTED, "grammar needs a tokenizer, and this model has none");
    return follower_new(&s->grammar, text, s->candidates.n_vocab, s->n_ctx, t, s->stop.ids,
                        s->stop.n, MATCHER_NODES);
}

static void carve_sampler(struct sampler *s, struct arena *a, int n_vocab)
{
    candidates_carve(&s->candidates, a, n_vocab);
    s->count = arena_take(a, (size_t)n_vocab * sizeof *s->count);
    s->dry.match = arena_take(a, ((size_t)s->n_ctx + 1) * sizeof *s->dry.match);
}

size_t sampler_scratch_bytes(int n_vocab, int n_ctx)
{
    struct arena size = {0};
    struct sampler sized = {.n_ctx = n_ctx};
    carve_sampler(&sized, &size, n_vocab);
    return size.used;
}

void sampler_use(struct sampler *s, void *scratch)
{
    carve_sampler(s, &(struct arena){.base = scratch}, s->candidates.n_vocab);
    s->dry.count = s->count;
}

/* A stage that is not in the chain is off, and no other gives way to it. */
static void switch_off_missing(struct sampler_config *c, const struct chain *chain)
{
    bool uniform = false, mirostat = false, grammar = false;
    for (int i = 0; i < chain->n; i++) {
        grammar |= chain->stages[i] == STAGE_GRAMMAR;
        uniform |= chain->stages[i] == STAGE_TOPK_UNIFORM;
        mirostat |= chain->stages[i] == STAGE_MIROSTAT;
    }
    c->topk_uniform = c->topk_uniform && uniform;
    c->mirostat = mirostat ? c->mirostat : 0;
    c->grammar = grammar ? c->grammar : NULL;
}

int sampler_new(struct sampler **out, const struct sampler_config *c, int n_vocab, int n_ctx,
                const struct tokenizer *t, const struct stop_tokens *stop)
{
    struct sampler *s;
    struct chain chain;
    *out = NULL;
    int rc = sampler_config_check(c);
    if (rc == 0)
        rc = chain_parse(&chain, c->chain);
    if (rc)
        return rc;
    s = mem_alloc(sizeof *s + MEM_ALIGN + sampler_scratch_bytes(n_vocab, n_ctx));
    if (!s)
        return ERR_NOMEM;
    size_t head = (sizeof *s + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN;
    s->config = *c;
    switch_off_missing(&s->config, &chain);
    s->n_ctx = n_ctx;
    for (int i = 0; stop != NULL && i < stop->n; i++)
        if (stop->ids[i] < n_vocab)
            s->stop.ids[s->stop.n++] = stop->ids[i];
    s->candidates.n_vocab = n_vocab;
    sampler_use(s, (char *)s + head);
    s->dry.multiplier = c->dry_multiplier;
    s->dry.base = c->dry_base;
    s->dry.allowed_length = c->dry_allowed_length;
    s->mirostat = (struct mirostat){s->config.mirostat, c->mirostat_tau, c->mirostat_eta, 0};
    if ((rc = biases_parse(&s->biases, c->logit_bias, n_vocab)) || (rc = parse_words(s, t)) ||
        (rc = start_grammar(s, t))) {
        sampler_free(s);
        return rc;
    }
    for (int i = 0; i < chain.n; i++)
        if (is_stage_on(s, chain.stages[i]))
            s->chain.stages[s->chain.n++] = chain.stages[i];
    sampler_reset(s, c->draw, false);
    *out = s;
    return 0;
}

void sampler_free(struct sampler *s)
{
    if (!s)
        return;
    biases_release(&s->biases);
    phrases_release(&s->bad_words);
    dry_release(&s->dry);
    follower_free(s->grammar);
    mem_free(s);
}

void sampler_reset(struct sampler *s, int64_t draw, bool skip_space)
{
    s->config.draw = draw;
    mirostat_reset(&s->mirostat);
    if (s->grammar != NULL)
        follower_begin(s->grammar, s->config.grammar_read.n > 0 ? s->config.grammar_read.skip_space
                                                                : skip_space);
}

enum sampler_end sampler_end(const struct sampler *s)
{
    return s->grammar == NULL          ? SAMPLER_GOES_ON
           : follower_ends(s->grammar) ? SAMPLER_COMPLETE
                                       : SAMPLER_DEAD_END;
}

void sampler_want_logprobs(struct sampler *s, bool on)
{
    s->want_logprobs = on;
}

/* ---- the stages ---- */

/* The newest tokens within a window (-1: no limit), at most n_ctx. */
static const token_id *newest_tokens(const struct sampler *s, const struct text_position *at,
                                     int window, size_t *n)
{
    size_t most = window >= 0 && window < s->n_ctx ? (size_t)window : (size_t)s->n_ctx;
    *n = at->n_text < most ? at->n_text : most;
    return at->text + at->n_text - *n;
}

/* The answer, and what of the prompt it goes on from. */
static void ban_ungrammatical(struct sampler *s, float *logit, const struct text_position *at)
{
    const size_t answer = (size_t)(at->n_new + s->config.grammar_read.n),
                 n = answer < at->n_text ? answer : at->n_text;
    s->failed = follower_ban(s->grammar, logit, at->text + at->n_text - n, n);
}

/* A stage that changes logits because of the text; false if it is none. */
static bool adjust_logits(struct sampler *s, enum stage stage, float *logit,
                          const struct text_position *at)
{
    const struct sampler_config *c = &s->config;
    const token_id *text;
    size_t n;
    switch (stage) {
    case STAGE_LOGIT_BIAS:
        biases_apply(&s->biases, logit);
        return true;
    case STAGE_PENALTIES:
        text = newest_tokens(s, at, c->penalty_window, &n);
        penalize_repetition(logit, s->count, text, n, c->repetition_penalty, c->frequency_penalty,
                            c->presence_penalty);
        return true;
    case STAGE_DRY:
        text = newest_tokens(s, at, c->dry_window, &n);
        dry_apply(&s->dry, logit, text, n);
        return true;
    case STAGE_NO_REPEAT_NGRAM:
        ban_ngrams(logit, at->text, at->n_text, c->no_repeat_ngram_size);
        return true;
    case STAGE_BAD_WORDS:
        ban_phrases(logit, &s->bad_words, at->text, at->n_text);
        return true;
    case STAGE_MIN_NEW_TOKENS:
        for (int i = 0; i < s->stop.n && (c->ignore_eos || at->n_new < c->min_new_tokens); i++)
            logit[s->stop.ids[i]] = -INFINITY;
        return true;
    case STAGE_GRAMMAR:
        ban_ungrammatical(s, logit, at);
        return true;
    default:
        return false;
    }
}

static uint64_t draw_position(const struct sampler *s, int n_new)
{
    return (uint64_t)s->config.position + (uint64_t)n_new;
}

/* XTC's random number, from the words that the draw itself does not use. */
static double random_draw(const struct sampler *s, const struct text_position *at)
{
    uint32_t w[4];
    rng_words(w, s->config.seed, (uint64_t)s->config.draw, draw_position(s, at->n_new));
    return (double)w[2] * 0x1p-32;
}

static void run_filter(struct sampler *s, enum stage stage, const struct text_position *at)
{
    const struct sampler_config *c = &s->config;
    struct candidates *k = &s->candidates;
    switch (stage) {
    case STAGE_TEMPERATURE:
        filter_dynamic_temperature(k, c->temperature, c->dynatemp_range, c->dynatemp_exponent);
        break;
    case STAGE_TOP_K:
        filter_top_k(k, c->top_k);
        break;
    case STAGE_TOP_P:
        filter_top_p(k, c->top_p);
        break;
    case STAGE_MIN_P:
        filter_min_p(k, c->min_p);
        break;
    case STAGE_TYPICAL_P:
        filter_typical_p(k, c->typical_p);
        break;
    case STAGE_TOP_N_SIGMA:
        filter_top_n_sigma(k, c->top_n_sigma);
        break;
    case STAGE_XTC:
        filter_xtc(k, c->xtc_probability, c->xtc_threshold, random_draw(s, at));
        break;
    case STAGE_TOPK_UNIFORM:
        filter_topk_uniform(k, c->top_k);
        break;
    case STAGE_MIROSTAT:
        mirostat_cut(&s->mirostat, k);
        break;
    case STAGE_LOGIT_BIAS: /* those of the logits were run before */
    case STAGE_PENALTIES:
    case STAGE_DRY:
    case STAGE_NO_REPEAT_NGRAM:
    case STAGE_BAD_WORDS:
    case STAGE_MIN_NEW_TOKENS:
    case STAGE_GRAMMAR:
    case STAGE_COUNT:
        break;
    }
}

/* All stages of the sampler; false if nothing is left. */
static bool run_stages(struct sampler *s, const float *logits, const struct text_position *at)
{
    s->failed = 0;
    candidates_start(&s->candidates, logits);
    for (int i = 0; i < s->chain.n; i++) {
        enum stage stage = s->chain.stages[i];
        if (adjust_logits(s, stage, s->candidates.logit, at))
            candidates_changed(&s->candidates);
        else
            run_filter(s, stage, at);
    }
    return s->failed == 0 && candidates_weigh(&s->candidates);
}

/* ---- drawing ---- */

struct sampled sampler_pick(struct sampler *s, const float *logits, const token_id *text,
                            size_t n_text, int n_new)
{
    const struct text_position at = {text, n_text, n_new};
    struct candidates *c = &s->candidates;
    const struct sampling_kernels *k = c->kernels;
    struct sampled out = {.logprob = NAN};
    bool greedy = s->config.temperature == 0;
    if ((greedy && s->chain.n == 0) || !run_stages(s, logits, &at)) {
        if (s->grammar != NULL)
            return (struct sampled){.id = TOKEN_NONE, .logprob = NAN, .rc = s->failed};
        out.id = (token_id)k->argmax(logits, (size_t)c->n_vocab);
    } else if (greedy) {
        out.id = (token_id)k->argmax(c->logit, (size_t)c->n_vocab);
    } else {
        double u = rng_uniform(s->config.seed, (uint64_t)s->config.draw, draw_position(s, n_new));
        int place = candidates_draw(c, u);
        double p = (double)c->weight[place] / c->sum;
        out.id = candidates_id(c, place);
        out.chain_logprob = (float)log(p);
        if (s->mirostat.version)
            mirostat_update(&s->mirostat, p);
    }
    if (s->want_logprobs)
        out.logprob = (float)((double)logits[out.id] - log_sum_exp(logits, (size_t)c->n_vocab));
    return out;
}

int sampler_adjust(struct sampler *s, float *scores, const token_id *text, size_t n_text, int n_new)
{
    const struct text_position at = {text, n_text, n_new};
    s->failed = 0;
    for (int i = 0; i < s->chain.n; i++)
        adjust_logits(s, s->chain.stages[i], scores, &at);
    return s->failed;
}

/* ---- explaining ---- */

/* a before b: more likely under the sampler, then under the model, then the lower id. */
static bool alternative_before(const struct alternative *a, const struct alternative *b)
{
    if (a->p_chain != b->p_chain)
        return a->p_chain > b->p_chain;
    if (a->p_model != b->p_model)
        return a->p_model > b->p_model;
    return a->id < b->id;
}

static int token_rank(const float *logits, int n, token_id id)
{
    int rank = 1;
    for (token_id i = 0; i < n; i++)
        rank += logits[i] > logits[id] || (logits[i] == logits[id] && i < id);
    return rank;
}

/* Probabilities under the sampler into key [V]. */
static void chain_probabilities(struct sampler *s, const float *logits,
                                const struct text_position *at)
{
    struct candidates *c = &s->candidates;
    bool left = run_stages(s, logits, at);
    memset(c->key, 0, (size_t)c->n_vocab * sizeof *c->key);
    if (!left && s->grammar != NULL)
        return;
    if (!left)
        c->key[c->kernels->argmax(logits, (size_t)c->n_vocab)] = 1;
    else if (s->config.temperature == 0)
        c->key[c->kernels->argmax(c->logit, (size_t)c->n_vocab)] = 1;
    else
        for (int i = 0; i < c->n; i++)
            c->key[candidates_id(c, i)] = (float)((double)c->weight[i] / c->sum);
}

int sampler_explain(struct sampler *s, const float *logits, const token_id *text, size_t n_text,
                    int n_new, token_id chosen, struct alternative *chosen_out,
                    struct alternative *out, int max)
{
    const struct text_position at = {text, n_text, n_new};
    int n_vocab = s->candidates.n_vocab, n = 0;
    chain_probabilities(s, logits, &at);
    double log_sum = log_sum_exp(logits, (size_t)n_vocab);
    for (token_id id = 0; id < n_vocab; id++) {
        struct alternative a = {id, 0, (float)exp((double)logits[id] - log_sum),
                                s->candidates.key[id]};
        if (id == chosen)
            *chosen_out = a;
        int at_place = n;
        for (; at_place > 0 && alternative_before(&a, &out[at_place - 1]); at_place--)
            if (at_place < max)
                out[at_place] = out[at_place - 1];
        if (at_place < max) {
            out[at_place] = a;
            n = n < max ? n + 1 : n;
        }
    }
    for (int i = 0; i < n; i++)
        out[i].rank = token_rank(logits, n_vocab, out[i].id);
    chosen_out->rank = token_rank(logits, n_vocab, chosen);
    return n;
}
