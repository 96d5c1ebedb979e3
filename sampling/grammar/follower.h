#ifndef PRATTLE_SAMPLING_GRAMMAR_FOLLOWER_H
#define PRATTLE_SAMPLING_GRAMMAR_FOLLOWER_H
/*
 * Which tokens may come next in an answer that must match a grammar: those whose bytes the grammar
 * allows there to the last, and, where the answer may end, the stop tokens. That depends on the
 * answer's tokens alone: what was found for a text before only saves time.
 *
 * Nothing is allocated after follower_new.
 */
#include "model/tokenizer/tokenizer.h"

#include <stdbool.h>

struct follower;

#define FOLLOWER_TOO_MANY                                                                          \
    "by its grammar a text can be read in too many ways at once: rules that begin alike, or "      \
    "{m,n} "                                                                                       \
    "within {m,n}, make many"

/*
 * text: the setting `grammar` (source.h). For n_vocab logits and answers of up to n_ctx tokens.
 * stop [n_stop]: the tokens that end an answer, borrowed until this returns. t is borrowed. Fails
 * as grammar_load; ERR_RANGE: FOLLOWER_TOO_MANY; ERR_NOMEM. most_nodes: as of matcher_new.
 */
int follower_new(struct follower **out, const char *text, int n_vocab, int n_ctx,
                 const struct tokenizer *t, const token_id *stop, int n_stop, int most_nodes);
void follower_free(struct follower *f);
/* skip_space: the next answers' first byte is no part of the text where it is a space (stream.h).
 */
void follower_begin(struct follower *f, bool skip_space);
/* Set the logits [n_vocab] of the tokens that must not follow an answer of ids [n] to -INFINITY.
 * ERR_RANGE: FOLLOWER_TOO_MANY; ERR_INTERRUPTED, without a sentence, if interrupt_pending(). */
int follower_ban(struct follower *f, float *logit, const token_id *ids, size_t n);
/* Whether that answer may end as it is. */
bool follower_ends(const struct follower *f);

#endif
