#ifndef PRATTLE_SAMPLING_GENERATE_H
#define PRATTLE_SAMPLING_GENERATE_H
/*
 * From a prompt to one or several answers, by greedy decoding, sampling, beam or contrastive
 * search: a scheduler with a single request.
 */
#include "kvcache/sequence.h"
#include "sampling/text/prompt.h"
#include "sampling/text/request.h"

/*
 * Continue a prompt, or with prompt NULL the sequence's text. An empty text begins with the model's
 * begin token. The sequence's text becomes the prompt and the first answer, including the ids that
 * a stop string hid (n_whole in request.h), which the caller cuts off. Answer k uses draw c->draw +
 * k.
 *
 * answers [num_return_sequences], zeroed; to be released also after an error.
 * ERR_FULL: the prompt does not fit and on_full is stop; the sequence is unchanged.
 * ERR_INTERRUPTED: while the prompt was read (answers are `unread`) the sequence is unchanged, as
 * in kvcache/sequence.h; later the answers hold what was generated, with finish FINISH_INTERRUPTED.
 */
int generate(struct sequence *s, const struct prompt *prompt, const struct generate_config *g,
             const struct sampler_config *c, const struct generate_callbacks *callbacks,
             struct answer *answers);

#endif
