#ifndef PRATTLE_TRAIN_EVAL_SPACES_H
#define PRATTLE_TRAIN_EVAL_SPACES_H
/*
 * Spaces as Python's str has them, since the evaluations were defined in it: the characters of
 * property White_Space and the separators U+001C .. U+001F.
 */
#include <stddef.h>

/* The number of bytes of the space at the end of n bytes; 0: there is none. */
size_t space_before(const char *text, size_t n);

/* Bytes within a text, borrowed. */
struct span {
    const char *text;
    size_t n;
};
/* Python's strip(). */
struct span span_strip(struct span s);
/* The last word, as Python's split() gives it; n = 0 if there are only spaces. */
struct span span_last_word(struct span s);
/* The number of parts between single spaces (U+0020): Python's len(s.strip().split(" ")). */
size_t span_pieces(struct span s);

#endif
