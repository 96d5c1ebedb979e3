#ifndef PRATTLE_SAMPLING_SEARCH_SEARCH_H
#define PRATTLE_SAMPLING_SEARCH_SEARCH_H
/*
 * Beam and contrastive search as generate offers them: with stop strings, text and
 * timings around what beam.h and contrastive.h choose.
 */
#include "kvcache/sequence.h"
#include "sampling/text/listener.h"

/* The search that the settings ask for; and whether they ask for one. It goes on from the
 * sequence's text, and fills ids, logprobs, text, finish, score and decode_s of answers
 * [num_return_sequences]. Contrastive search draws nothing: its answers are all the same, found
 * once. */
int search_run(struct sequence *s, bool held_space, const struct generate_config *g,
               const struct sampler_config *c, struct listener *listener, struct answer *answers);
static inline bool search_wanted(const struct generate_config *g)
{
    return g->num_beams > 1 || g->penalty_alpha > 0;
}

#endif
