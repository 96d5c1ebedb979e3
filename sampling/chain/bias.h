#ifndef PRATTLE_SAMPLING_CHAIN_BIAS_H
#define PRATTLE_SAMPLING_CHAIN_BIAS_H
/* Numbers added to the logits of some tokens (OpenAI's logit_bias). */
#include "model/config.h"

#include <stddef.h>

struct biases {
    struct bias {
        token_id id;
        float bias; /* finite, or -INFINITY: banned */
    } * list;
    size_t n;
};

/* Parse "id:bias,id:bias", spaces allowed; NULL and "" give none. ERR_RANGE: another form, an id
 * outside 0..n_vocab-1, a bias that is NaN or +inf; out is then empty. */
int biases_parse(struct biases *out, const char *text, int n_vocab);
void biases_release(struct biases *b);
/* A sum above FLT_MAX becomes that. */
void biases_apply(const struct biases *b, float *logit);

#endif
