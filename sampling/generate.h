#ifndef PRATTLE_SAMPLING_GENERATE_H
#define PRATTLE_SAMPLING_GENERATE_H
/*
 * From a prompt to an answer: the one request of a scheduler. Greedy, sampling, beam and
 * contrastive search, one or several answers.
 */
#include "kvcache/sequence.h"
#include "sampling/text/prompt.h"
#include "sampling/text/request.h"

/*
 * Go on from a prompt, or with prompt NULL from the sequence's text as it stands. An
 * empty text begins with the model's begin token. The sequence's text becomes prompt +
 * the first answer, with the ids that a stop string hid (n_whole in request.h), which the caller
 * cuts off. Answer k uses draw c->draw + k.
 *
 * answers [num_return_sequences], zeroed; to be released also after an error.
 * ERR_FULL: the prompt does not fit and on_full is stop; the sequence is unchanged.
 * ERR_INTERRUPTED: while the prompt was read (answers say unread) the sequence is unchanged, as in
 * kvcache/sequence.h; later what was made is in answers, and their finish says so.
 */
int generate(struct sequence *s, const struct prompt *prompt, const struct generate_config *g,
             const struct sampler_config *c, const struct generate_callbacks *callbacks,
             struct answer *answers);

#endif
