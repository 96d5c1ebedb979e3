#ifndef PRATTLE_SAMPLING_SEARCH_CONTRASTIVE_H
#define PRATTLE_SAMPLING_SEARCH_CONTRASTIVE_H
/*
 * Contrastive search (Su et al., "A Contrastive Framework for Neural Text
 * Generation", 2022), as in transformers 4.46: of the top_k most likely tokens,
 * the one that maximises
 *
 *   (1 - penalty_alpha) p(token) - penalty_alpha max_j cos(h(token), h_j)
 *
 * where h are last hidden states (after ln_f) and j runs over the whole text. The top_k
 * continuations share the text's pages and run as one pass a step. The token after a full context
 * cannot be fed and has no h: the most likely one is taken.
 */
#include "kvcache/sequence.h"
#include "sampling/text/request.h"

struct contrastive;

/*
 * Start from the sequence's text, which is read once more for its hidden states; the engine must
 * hold top_k texts besides the sequence's. Stages that change logits apply before the top_k.
 * ERR_RANGE: penalty_alpha outside 0..1, or top_k below 2 or above what the engine holds.
 * ERR_INTERRUPTED. n_new: so many tokens were generated before. held_space: the first token begins
 * with a space (prompt.h).
 */
int contrastive_new(struct contrastive **out, struct sequence *s, const struct generate_config *g,
                    const struct sampler_config *c, const struct stop_tokens *stop, int n_new,
                    bool held_space, const struct progress *p);
void contrastive_free(struct contrastive *k);
/*
 * Choose the next token and append it to the sequence's text. logprob is always filled;
 * chain_logprob is 0, since nothing is drawn. An id of TOKEN_NONE: the answer ends, the text is as
 * before (sampler_pick). ERR_FULL: the context is full; ERR_NOT_FINITE
 * (chain/logits.h). Does not allocate.
 */
int contrastive_next(struct contrastive *k, struct sampled *out);
/* Why it found no token. */
enum sampler_end contrastive_end(const struct contrastive *k);

#endif
