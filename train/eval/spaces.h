#ifndef PRATTLE_TRAIN_EVAL_SPACES_H
#define PRATTLE_TRAIN_EVAL_SPACES_H
/*
 * Spaces as Python's str has them, since the evaluations were defined in it: the characters of
 * property White_Space and the separators U+001C .. U+001F.
 */
#include <stddef.h>

/* Bytes of the space at the end of n bytes; 0: there is none. */
size_t space_before(const char *text, size_t n);

/* A run of bytes within some text, borrowed. */
struct span {
    const char *text;
    size_t n;
};
struct span span_strip(struct span s);
/* The last word, what split() has last; n = 0 if there are only spaces. */
struct span span_last_word(struct span s);
/* In how many pieces single spaces (U+0020) cut what strip() leaves: len(s.strip().split(" ")). */
size_t span_pieces(struct span s);

#endif
