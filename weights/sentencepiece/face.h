#ifndef PRATTLE_WEIGHTS_SENTENCEPIECE_FACE_H
#define PRATTLE_WEIGHTS_SENTENCEPIECE_FACE_H
/*
 * What the program asks of libsentencepiece, which has functions for C++ alone: a part of its own,
 * prattle-sentencepiece.so, is compiled where the library is (face.cc), and opened when a model of
 * it is (sentencepiece.c). So the program stays C, and needs no library for what it does not do.
 */
#include <stddef.h>

#define SENTENCEPIECE_ENTRY "prattle_sentencepiece_2" /* the number changes with the struct */

#ifdef __cplusplus
extern "C" {
#endif

enum sentencepiece_kind {
    SENTENCEPIECE_TEXT,
    SENTENCEPIECE_SPECIAL, /* a control symbol */
    SENTENCEPIECE_UNUSED
};

struct sentencepiece_face {
    /* A model from the n bytes of its file. NULL: a reason is in why[size]. */
    void *(*open)(const char *bytes, size_t n, char *why, size_t size);
    void (*close)(void *model);
    int (*count)(const void *model);
    int (*end)(const void *model);        /* the id of </s>, -1: none */
    int (*adds_space)(const void *model); /* before a text */
    /* The piece's text and, in *bytes [*n], what it decodes to; borrowed until the next call. */
    const char *(*piece)(void *model, int id, const char **bytes, size_t *n,
                         enum sentencepiece_kind *kind);
    /* The ids of n bytes to `take`, which returns 0 to go on. as: of enum piece_text
     * (model/tokenizer/pieces.h). 0, what take returned, or -1: it failed. Any thread may call
     * this. */
    int (*encode)(const void *model, const char *text, size_t n, int as,
                  int (*take)(void *user, const int *ids, size_t n), void *user);
};

/* SENTENCEPIECE_ENTRY */
const struct sentencepiece_face *prattle_sentencepiece_2(void);

#ifdef __cplusplus
}
#endif
#endif
