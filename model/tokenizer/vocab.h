#ifndef PRATTLE_MODEL_TOKENIZER_VOCAB_H
#define PRATTLE_MODEL_TOKENIZER_VOCAB_H
#include "model/base/ids.h"

#include <stdbool.h>

/*
 * The contents of vocabulary files. Token texts and merges are in GPT-2's printable byte alphabet
 * ("Ġthe"), as in vocab.json and GGUF; special tokens have their literal text.
 */
struct vocab {
    int n_tokens;              /* ids 0..n-1 */
    const char *const *tokens; /* [n], NULL for a hole */
    /* [n], 1 for special tokens; NULL: only "<|endoftext|>". Single characters, and tokens that a
     * merge joins or makes, are ordinary in any case. */
    const unsigned char *special;
    int n_merges;
    const char *const *merges; /* [n], "left right", by rank */
    token_id eos;              /* TOKEN_NONE when there is none */
    bool add_prefix_space;     /* see ENCODE_GOES_ON of tokenizer.h */
    bool begins; /* texts are to begin with the model's begin-of-text token; encoding adds none */
};

#endif
