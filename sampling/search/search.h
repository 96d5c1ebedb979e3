#ifndef PRATTLE_SAMPLING_SEARCH_SEARCH_H
#define PRATTLE_SAMPLING_SEARCH_SEARCH_H
/*
 * Beam and contrastive search as generate offers them: beam.h and contrastive.h with stop strings,
 * text and timings.
 */
#include "kvcache/sequence.h"
#include "sampling/text/listener.h"

/* Run the search that the settings select, from the sequence's text. Fills ids, logprobs, text,
 * finish, score and decode_s of answers [num_return_sequences]. Contrastive search draws nothing:
 * it runs once, and all its answers are the same. */
int search_run(struct sequence *s, bool held_space, const struct generate_config *g,
               const struct sampler_config *c, struct listener *listener, struct answer *answers);
/* Whether the settings select a search. */
static inline bool search_wanted(const struct generate_config *g)
{
    return g->num_beams > 1 || g->penalty_alpha > 0;
}

#endif
