#ifndef PRATTLE_SAMPLING_CHAIN_PENALTIES_H
#define PRATTLE_SAMPLING_CHAIN_PENALTIES_H
/*
 * Stages that change logits [V] by the text so far: text [n], the prompt included, newest last.
 * They have no state, so the text may be cut or exchanged between calls.
 */
#include "model/config.h"

#include <stddef.h>

/*
 * For each token seen in text: its logit is divided by `repetition` if positive, else
 * multiplied (Keskar et al., "CTRL", 2019; transformers' RepetitionPenalty); then
 * lowered by count * frequency + presence (OpenAI's and llama.cpp's). At most FLT_MAX.
 *
 * count  [V] scratch, zero before and after
 */
void penalize_repetition(float *logit, int *count, const token_id *text, size_t n, float repetition,
                         float frequency, float presence);

/* Ban the tokens that would complete an n-gram of the text once more (Paulus et al., 2017;
 * transformers' NoRepeatNGram). */
void ban_ngrams(float *logit, const token_id *text, size_t n_text, int n);

/* Sequences of tokens. */
struct phrases {
    struct phrase {
        token_id *ids; /* owned */
        size_t n;      /* >= 1 */
    } * list;
    size_t n, cap;
};
void phrases_release(struct phrases *p);
/* Add a copy of ids [n], n >= 1, unless it is in the list. ERR_NOMEM. */
int phrases_add(struct phrases *p, const token_id *ids, size_t n);
/* Ban the last token of each phrase whose other tokens end the text (transformers' NoBadWords). */
void ban_phrases(float *logit, const struct phrases *bad, const token_id *text, size_t n);

#endif
