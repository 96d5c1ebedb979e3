#ifndef PRATTLE_SAMPLING_CHAIN_SAMPLER_H
#define PRATTLE_SAMPLING_CHAIN_SAMPLER_H
/*
 * Logits -> token: a chain of stages whose order is a setting. Each stage is pure (it
 * looks at the candidates, its own settings and the text) and lives with its kin in
 * filters.c, penalties.c or mirostat.c, whose headers say where its definition comes
 * from. The default order is that of transformers 4.46: what changes logits, then what
 * shapes and cuts the distribution:
 *
 *   logit_bias penalties dry no_repeat_ngram bad_words min_new_tokens
 *   temperature top_k top_p min_p typical_p top_n_sigma xtc topk_uniform mirostat
 *
 * A stage left out of the sampler is off, whatever its setting. With temperature 0 the
 * first row applies and then the most likely token is taken, ties to the lowest id.
 * With mirostat on, the other stages that cut (top_k ... topk_uniform) are not used.
 *
 * To add a filter: its function in filters.c and filters.h; a stage in stages.h, in its place in
 * SAMPLER_CHAIN there (a stage that is not in it is off by default) and its name in stages.c; its
 * two cases in sampler.c (whether it is on, and its call); its field, default and range in
 * sampler_config.h and .c; a row of repl/settings/options_table.c, and "make tables". A setting of
 * generation_config.json is also named in weights/hf/generation_config.c.
 *
 * A draw depends on (seed, draw, position) alone. Nothing here allocates, locks or
 * calls the system after sampler_new.
 */
#include "model/config.h"
#include "sampling/chain/sampler_config.h"

#include <stddef.h>
#include <stdint.h>

/* The tokens that end a text. */
enum { STOP_TOKENS_MAX = CONFIG_STOP_TOKENS };
struct stop_tokens {
    token_id ids[STOP_TOKENS_MAX];
    int n;
};
static inline bool stop_tokens_has(const struct stop_tokens *s, token_id id)
{
    bool found = false;
    for (int i = 0; i < s->n; i++)
        found |= s->ids[i] == id;
    return found;
}

struct tokenizer;
struct sampler;

/*
 * Checks the config, parses chain, biases and words once; n_vocab logits; texts up to
 * n_ctx tokens. tokenizer may be NULL (then bad_words is refused, and DRY has no
 * breakers). stop: the tokens that end a text, NULL if none does.
 */
int sampler_new(struct sampler **out, const struct sampler_config *c, int n_vocab, int n_ctx,
                const struct tokenizer *t, const struct stop_tokens *stop);
void sampler_free(struct sampler *s);
/* Back to the state before the first draw, for draw number `draw` (mirostat's mu). */
void sampler_reset(struct sampler *s, int64_t draw);

/* What was drawn, for :why and log-probabilities. */
struct sampled {
    token_id id;
    float logprob;       /* under the model: log softmax of the raw logits; NaN if not asked */
    float chain_logprob; /* under the sampler it was drawn from */
};
/*
 * Draw the next token. logits [V] are not changed; a NaN counts as -inf. text: all ids
 * so far, of which the last n_new were generated; the draw's position is position + n_new. Called
 * by one thread. If everything was filtered away, the most likely token of the raw
 * logits is taken.
 */
struct sampled sampler_pick(struct sampler *s, const float *logits, const token_id *text,
                            size_t n_text, int n_new);
/*
 * Scratch for draws, zeroed, aligned to 64, to be used instead of the sampler's own from now
 * on. Samplers that never draw at the same time may use one: it stays in the cache.
 */
size_t sampler_scratch_bytes(int n_vocab, int n_ctx);
void sampler_use(struct sampler *s, void *scratch);
/*
 * What :why shows: the most likely tokens, under the sampler and then, where it leaves
 * fewer than max, under the model; with the raw rank (from 1) and probability of each.
 * Returns how many. Changes nothing: to replay an answer, reset, and at each position
 * explain, then pick (which moves mirostat on).
 */
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

/*
 * For searches: apply the stages that change logits, in the sampler's order and in place,
 * to scores [V] (logits or log-probabilities) of what may follow text.
 */
void sampler_adjust(struct sampler *s, float *scores, const token_id *text, size_t n_text,
                    int n_new);

#endif
