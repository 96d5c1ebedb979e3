#ifndef PRATTLE_SAMPLING_CHAIN_STAGES_H
#define PRATTLE_SAMPLING_CHAIN_STAGES_H
/* The stages of the sampler, their names, and an order of them as the setting `chain` gives it. */

#include <stdbool.h>

/* The default order. */
#define SAMPLER_CHAIN                                                                              \
    "logit_bias,penalties,dry,no_repeat_ngram,bad_words,min_new_tokens,grammar,temperature,"       \
    "top_k,top_p,min_p,typical_p,top_n_sigma,xtc,topk_uniform,mirostat"

enum stage {
    STAGE_LOGIT_BIAS,
    STAGE_PENALTIES,
    STAGE_DRY,
    STAGE_NO_REPEAT_NGRAM,
    STAGE_BAD_WORDS,
    STAGE_MIN_NEW_TOKENS,
    STAGE_GRAMMAR, /* the last that changes logits because of the text */
    STAGE_TEMPERATURE,
    STAGE_TOP_K,
    STAGE_TOP_P,
    STAGE_MIN_P,
    STAGE_TYPICAL_P,
    STAGE_TOP_N_SIGMA,
    STAGE_XTC,
    STAGE_TOPK_UNIFORM,
    STAGE_MIROSTAT,
    STAGE_COUNT
};

struct chain {
    enum stage stages[STAGE_COUNT];
    int n;
};

/* Parse names separated by commas, spaces around them allowed; NULL and "" mean the default order.
 * ERR_RANGE: an unknown name (the message has the nearest), or one that occurs twice. */
int chain_parse(struct chain *out, const char *text);
/* Whether an order has this stage; true of one that is wrong. */
bool chain_has(const char *text, enum stage stage);

#endif
