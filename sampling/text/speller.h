#ifndef PRATTLE_SAMPLING_TEXT_SPELLER_H
#define PRATTLE_SAMPLING_TEXT_SPELLER_H
/*
 * From an answer's ids to its text, and where it ends: stop tokens, stop strings, and the stream.
 */
#include "sampling/text/request.h"
#include "sampling/text/stream.h"

struct speller {
    struct stop_tokens stop_tokens;
    struct stop_strings *stops;
    struct stream stream;
    char *bytes; /* [n_bytes] room for the text of a run of tokens */
    size_t n_bytes;
};
/* For these settings and runs of n tokens. ERR_MISSING: there are stop strings, and the model has
 * no tokenizer; ERR_RANGE as generate_stop_tokens. To be released also after an error. */
int speller_init(struct speller *sp, const struct generate_config *g, const struct model *m,
                 size_t n);
void speller_release(struct speller *sp);
/* If a stop string was found, set the answer's finish, n_whole and n_part. All its ids were pushed.
 */
void speller_end(const struct speller *sp, struct answer *a);

#endif
