#ifndef PRATTLE_MODEL_TOKENIZER_PIECES_H
#define PRATTLE_MODEL_TOKENIZER_PIECES_H
#include "model/base/ids.h"

#include <stdbool.h>

/* A token of a vocabulary whose texts are encoded elsewhere. */
struct piece {
    const char *text;  /* what files call it, NUL-terminated */
    const char *bytes; /* [n], what it decodes to; n 0: a hole */
    size_t n;
    bool special;
};

/*
 * A vocabulary that is no byte-level BPE: SentencePiece's. Several tokens may stand for the same
 * bytes.
 */
struct piece_vocab {
    int n_tokens;
    const struct piece *list; /* [n_tokens] */
    token_id eos;             /* TOKEN_NONE: none */
    bool add_prefix_space;
    const char *file; /* [n_file], the bytes of its file */
    size_t n_file;
    /* Append the ids of n bytes; goes_on: the text continues another one. Called by many threads.
     * Sets a message when it fails. */
    int (*encode)(void *user, struct ids *out, const char *text, size_t n, bool goes_on);
    void (*close)(void *user);
    void *user;
};

#endif
