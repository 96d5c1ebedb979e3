#ifndef PRATTLE_SAMPLING_TEXT_SPELLER_H
#define PRATTLE_SAMPLING_TEXT_SPELLER_H
/*
 * What makes text of an answer's ids and knows where it ends: stop tokens, stop strings, stream.
 */
#include "sampling/text/request.h"
#include "sampling/text/stream.h"

struct speller {
    struct stop_tokens stop_tokens;
    struct stop_strings *stops;
    struct stream stream;
    char *bytes; /* [n_bytes] room for what a run of tokens shows */
    size_t n_bytes;
};
/* By these settings, for runs of n tokens. ERR_MISSING: stop strings, and the model has no
 * tokenizer; ERR_RANGE: stop_token names what is no token. Released also after an error. */
int speller_init(struct speller *sp, const struct generate_config *g, const struct model *m,
                 size_t n);
void speller_release(struct speller *sp);
/* Where a stop string was seen it ends the answer, whose ids were all pushed. */
void speller_end(const struct speller *sp, struct answer *a);

#endif
