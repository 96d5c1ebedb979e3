#include "sampling/chain/sampler_config.h"

#include "model/base/err.h"
#include "model/base/words.h"
#include "sampling/chain/bias.h"
#include "sampling/grammar/source.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>

void sampler_config_init(struct sampler_config *c)
{
    *c = (struct sampler_config){
        .temperature = 0.8f,
        .dynatemp_exponent = 1,
        .top_p = 0.95f,
        .typical_p = 1,
        .xtc_threshold = 0.1f,
        .mirostat_tau = 5,
        .mirostat_eta = 0.1f,
        .repetition_penalty = 1,
        .penalty_window = -1,
        .dry_base = 1.75f,
        .dry_allowed_length = 2,
        .dry_window = -1,
    };
}

enum open { CLOSED, OPEN }; /* whether `low` itself is outside */

static int check_float(const char *name, float x, enum open open, float low, float high)
{
    if (x <= high && (open ? x > low : x >= low))
        return 0;
    const char *more = open ? "more than" : "at least";
    if (high == FLT_MAX)
        return err_set(ERR_RANGE, "%s must be finite and %s %g, not %g", name, more, (double)low,
                       (double)x);
    return err_set(ERR_RANGE, "%s must be %s %g and at most %g, not %g", name, more, (double)low,
                   (double)high, (double)x);
}

static int check_int(const char *name, long long x, long long low, long long high)
{
    if (x >= low && x <= high)
        return 0;
    if (high >= INT_MAX)
        return err_set(ERR_RANGE, "%s must be %lld or more, not %lld", name, low, x);
    return err_set(ERR_RANGE, "%s must be %lld to %lld, not %lld", name, low, high, x);
}

int sampler_config_check(const struct sampler_config *c)
{
#define FLOAT(field, open, low, high)                                                              \
    if ((rc = check_float(#field, c->field, open, low, high)))                                     \
    return rc
#define INT(field, low, high)                                                                      \
    if ((rc = check_int(#field, c->field, low, high)))                                             \
    return rc
    int rc;
    FLOAT(temperature, CLOSED, 0, FLT_MAX);
    FLOAT(dynatemp_range, CLOSED, 0, FLT_MAX);
    FLOAT(dynatemp_exponent, CLOSED, 0, FLT_MAX);
    INT(top_k, 0, INT_MAX);
    FLOAT(top_p, CLOSED, 0, 1);
    FLOAT(min_p, CLOSED, 0, 1);
    FLOAT(typical_p, OPEN, 0, 1);
    FLOAT(top_n_sigma, CLOSED, 0, FLT_MAX);
    FLOAT(xtc_probability, CLOSED, 0, 1);
    FLOAT(xtc_threshold, CLOSED, 0, 0.5f); /* above, two tokens cannot reach it */
    INT(mirostat, 0, 2);
    FLOAT(mirostat_tau, OPEN, 0, FLT_MAX);
    FLOAT(mirostat_eta, CLOSED, 0, 1);
    FLOAT(repetition_penalty, OPEN, 0, FLT_MAX);
    FLOAT(frequency_penalty, CLOSED, -100, 100);
    FLOAT(presence_penalty, CLOSED, -100, 100);
    INT(penalty_window, -1, INT_MAX);
    FLOAT(dry_multiplier, CLOSED, 0, FLT_MAX);
    FLOAT(dry_base, CLOSED, 1, FLT_MAX);
    INT(dry_allowed_length, 1, INT_MAX);
    INT(dry_window, -1, INT_MAX);
    INT(no_repeat_ngram_size, 0, INT_MAX);
    INT(min_new_tokens, 0, INT_MAX);
    INT(draw, 0, LLONG_MAX);
#undef FLOAT
#undef INT
    struct chain chain;
    struct biases biases;
    rc = chain_parse(&chain, c->chain);
    if (rc == 0 && (rc = biases_parse(&biases, c->logit_bias, INT_MAX)) == 0)
        biases_release(&biases);
    if (rc == 0)
        rc = words_check("bad_words", c->bad_words);
    if (rc == 0)
        rc = words_check("dry_breakers", c->dry_breakers);
    if (rc == 0 && c->grammar != NULL && *c->grammar != '\0') {
        struct grammar *grammar;
        rc = grammar_load(&grammar, c->grammar);
        grammar_free(grammar);
    }
    return rc;
}
