#ifndef PRATTLE_MODEL_GPT2_VOCAB_H
#define PRATTLE_MODEL_GPT2_VOCAB_H
/* GPT-2's vocabulary, as a model without tokenizer files shows it. */
#include "model/config.h"

enum {
    GPT2_VOCAB = 50257,
    GPT2_VOCAB_PADDED = 50304,
    GPT2_END_OF_TEXT = 50256,
    GPT2_MERGES = 50000
};

/* Whether it has as many ids, or nanoGPT's padded number, and GPT-2's end of text. */
static inline bool gpt2_vocab_is(const struct config *c)
{
    return (c->n_vocab == GPT2_VOCAB || c->n_vocab == GPT2_VOCAB_PADDED) &&
           c->eos_token_id == GPT2_END_OF_TEXT;
}

#endif
