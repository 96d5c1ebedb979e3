#ifndef PRATTLE_SAMPLING_SEARCH_BEAM_H
#define PRATTLE_SAMPLING_SEARCH_BEAM_H
/*
 * Beam search, as transformers 4.46 does it (GenerationMixin._beam_search with
 * BeamSearchScorer, do_sample off): 2 num_beams candidates a step; a hypothesis that
 * ends in the stop token within the first num_beams is finished; its score is the
 * sum of log-probabilities divided by (its new tokens, the stop token included) ^
 * length_penalty; early_stopping decides when the rest cannot matter any more.
 * Beams share the pages of their common beginning and run as one pass a step.
 */
#include "kvcache/sequence.h"
#include "sampling/text/request.h"

/*
 * From the sequence's text, which is the prompt: the best num_return_sequences of
 * num_beams hypotheses, best first, in answers: ids without the stop token, logprobs
 * if the caller wants them (under the model), finish, score; their text is left to the
 * caller, who also looks for stop strings. Stages that change logits work on
 * log-probabilities, as there; the others are not used. The sequence's text becomes
 * prompt + best answer; what is not in its cache is read when next needed.
 * held_space: the first token begins with a space (prompt.h).
 *
 * The engine must hold num_beams texts beside the sequence's. ERR_RANGE: fewer beams
 * than sequences to return. ERR_INTERRUPTED: the best so far are in answers, and
 * those still open say so. After any other error the sequence is unchanged.
 */
int beam_search(struct sequence *s, const struct generate_config *g, const struct sampler_config *c,
                const struct stop_tokens *stop, bool held_space,
                const struct generate_callbacks *callbacks, struct answer *answers);

#endif
