#ifndef PRATTLE_SAMPLING_SEARCH_BEAM_H
#define PRATTLE_SAMPLING_SEARCH_BEAM_H
/*
 * Beam search as in transformers 4.46 (GenerationMixin._beam_search with
 * BeamSearchScorer, do_sample off): 2 num_beams candidates a step; a hypothesis that
 * ends in the stop token within the first num_beams is finished; its score is the
 * sum of log-probabilities divided by (its new tokens, the stop token included) ^
 * length_penalty; early_stopping decides when the rest cannot matter any more.
 * Beams share the pages of their common beginning and run as one pass a step.
 */
#include "kvcache/sequence.h"
#include "sampling/text/request.h"

/*
 * Search from the sequence's text, the prompt. answers [num_return_sequences] receive the best
 * hypotheses, best first: ids without the stop token, logprobs under the model (if wanted), finish
 * and score. The caller fills in text and looks for stop strings. Stages that change logits apply
 * to log-probabilities, as in transformers; the others are not used. The sequence's text becomes
 * the prompt and the best answer; what its cache lacks is read when next needed. Answers beyond the
 * texts that were possible are empty, with FINISH_NO_TOKEN and a score of -infinity. held_space:
 * the first token begins with a space (prompt.h).
 *
 * The engine must hold num_beams texts besides the sequence's. ERR_RANGE: fewer beams than
 * sequences to return. ERR_INTERRUPTED: answers hold the best so far, open ones with
 * FINISH_INTERRUPTED. After any other error the sequence is unchanged.
 */
int beam_search(struct sequence *s, const struct generate_config *g, const struct sampler_config *c,
                const struct stop_tokens *stop, bool held_space,
                const struct generate_callbacks *callbacks, struct answer *answers);

#endif
