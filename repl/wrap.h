#ifndef PRATTLE_WRAP_H
#define PRATTLE_WRAP_H
/*
 * Text that comes in pieces, broken between words at a terminal's edge: a word that does not
 * fit is taken back and goes on in the next line. What may be taken back never fills the last
 * column, from where terminals do not agree on a step back.
 */
#include "model/base/buf.h"

#include <stdbool.h>
#include <stdio.h>

/* {0} at the beginning of a line. */
struct wrap {
    int column;       /* of the cursor, from 0 */
    int word_columns; /* of the word it stands behind */
    bool fixed;       /* that word has characters no step back takes away for sure */
    bool owes;        /* a blank met the edge: what comes next begins a line */
    struct buf word;
    size_t fresh; /* bytes of it that `out` ends with */
};

/*
 * Append to `out` what a terminal of so many columns is sent for n bytes of text, whole characters
 * that are harmless to it (term_visible). A word longer than a line is left to the terminal.
 */
int wrap_text(struct wrap *w, struct buf *out, const char *text, size_t n, int width);
/* The cursor stands at `column` now, behind no word. */
void wrap_at(struct wrap *w, int column);
void wrap_release(struct wrap *w);

/* A whole text, harmless to terminals, to f: broken between words if `wraps` and f is one. */
void wrap_print(FILE *f, const char *text, bool wraps);

#endif
