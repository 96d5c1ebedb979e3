#ifndef PRATTLE_SAMPLING_CHAIN_SAMPLER_H
#define PRATTLE_SAMPLING_CHAIN_SAMPLER_H
/*
 * Logits -> token: a chain of stages whose order is a setting. Each stage depends only on the
 * candidates, its settings and the text, and is defined in filters.h, penalties.h, dry.h or
 * mirostat.h, with its source. The default order is that of transformers 4.46: first the stages
 * that change logits, then those that shape and cut the distribution:
 *
 *   logit_bias penalties dry no_repeat_ngram bad_words min_new_tokens grammar
 *   temperature top_k top_p min_p typical_p top_n_sigma xtc topk_uniform mirostat
 *
 * A stage that is not in the order is off, whatever its setting. With temperature 0 the first row
 * applies and then the most likely token is taken, of equal ones the lowest id. With mirostat on,
 * the other stages that cut (top_k ... topk_uniform) are off.
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
 * A sampler for n_vocab logits and texts of up to n_ctx tokens. Checks and parses c once; c's
 * strings are not needed afterwards. t NULL: bad_words and grammar are ERR_UNSUPPORTED, and DRY has
 * no breakers. stop: the tokens that end a text, NULL if none. ERR_RANGE names the setting;
 * ERR_NOMEM.
 */
int sampler_new(struct sampler **out, const struct sampler_config *c, int n_vocab, int n_ctx,
                const struct tokenizer *t, const struct stop_tokens *stop);
void sampler_free(struct sampler *s);
/* Return to the state before the first token of draw number `draw` (Mirostat's mu). skip_space: a
 * space with which the answer begins is the prompt's, and not the grammar's. */
void sampler_reset(struct sampler *s, int64_t draw, bool skip_space);

struct sampled {
    token_id id;
    float logprob;       /* under the model: log softmax of the raw logits; NaN if not asked */
    float chain_logprob; /* under the sampler it was drawn from */
    int rc;              /* not 0: nothing was drawn; ERR_RANGE, ERR_INTERRUPTED (follower.h) */
};
/*
 * Draw the next token. logits [V] are not changed; a NaN counts as -inf. text [n_text]: all ids so
 * far, of which the last n_new were generated; the draw's position is position + n_new. If every
 * token was filtered out, the most likely one by the raw logits is taken; with a grammar none, the
 * id is TOKEN_NONE, and the answer ends. Called by one thread.
 */
struct sampled sampler_pick(struct sampler *s, const float *logits, const token_id *text,
                            size_t n_text, int n_new);
/*
 * Use this scratch, zeroed and aligned to 64, from now on instead of the sampler's own. Samplers
 * that never draw at the same time may share one, which then stays in the processor's cache.
 */
size_t sampler_scratch_bytes(int n_vocab, int n_ctx);
void sampler_use(struct sampler *s, void *scratch);
/*
 * What :why shows: the max most likely tokens under the sampler, followed, where it leaves fewer,
 * by the most likely under the model; each with its rank (from 1) and probability under the model.
 * *chosen_out is the same for the token `chosen`. Returns how many. Leaves Mirostat's state: to
 * replay an answer, call sampler_reset, and at each position sampler_explain, then sampler_pick.
 */
struct alternative {
    token_id id;
    int rank;
    float p_model, p_chain;
};
int sampler_explain(struct sampler *s, const float *logits, const token_id *text, size_t n_text,
                    int n_new, token_id chosen, struct alternative *chosen_out,
                    struct alternative *out, int max);
/* Whether sampler_pick fills logprob, which takes a pass over V. */
void sampler_want_logprobs(struct sampler *s, bool on);

/*
 * For searches: apply the stages that change logits, in the sampler's order, in place to scores [V]
 * (logits or log-probabilities) of the token after text. ERR_RANGE, ERR_INTERRUPTED (follower.h).
 */
int sampler_adjust(struct sampler *s, float *scores, const token_id *text, size_t n_text,
                   int n_new);
/* Where the last call found no token left: without a grammar the likeliest is taken all the same;
 * by one the text is complete, or it can be neither ended nor continued. */
enum sampler_end { SAMPLER_GOES_ON, SAMPLER_COMPLETE, SAMPLER_DEAD_END };
enum sampler_end sampler_end(const struct sampler *s);

#endif
