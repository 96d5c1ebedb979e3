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

/* What a text is to be encoded as. */
enum piece_text {
    PIECES_WHOLE,
    PIECES_GO_ON, /* it continues another one, and keeps its spaces as they are */
    PIECES_PART   /* it continues another one, and both are parts of one text */
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
    /* Append the ids of n bytes. Called by many threads. Sets a message when it fails. */
    int (*encode)(void *user, struct ids *out, const char *text, size_t n, enum piece_text as);
    void (*close)(void *user);
    void *user;
};

#endif
