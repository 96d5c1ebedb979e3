#ifndef PRATTLE_REPL_TERMINAL_WRAP_H
#define PRATTLE_REPL_TERMINAL_WRAP_H
/*
 * Text that comes part by part, broken between words at a terminal's edge: a word that does not
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
    bool owes;        /* a space met the edge: what comes next begins a line */
    int indent;       /* spaces before what goes on in the next line */
    bool sentence;    /* of ours: a command in backquotes stays whole, "`:why N`", and "[KEY=VALUE
                         ...]" */
    bool figures;     /* a number stays with the words beside it: "in 3.2 ms", "seed 7" */
    struct buf word;
    size_t fresh; /* bytes of it that `out` ends with */
    size_t sent;  /* bytes of `out` from before the last call */
};

/*
 * Append to `out` what a terminal of so many columns is sent for n bytes of text, whole characters
 * that are harmless to it (term_visible). A word longer than a line is broken behind a comma, a
 * slash or an equals sign, else behind a dash or an underscore; any other is left to the terminal,
 * or where w->indent is not 0 broken at the edge.
 */
int wrap_text(struct wrap *w, struct buf *out, const char *text, size_t n, int width);
/* The cursor stands at `column` now, behind no word. */
void wrap_at(struct wrap *w, int column);
void wrap_release(struct wrap *w);

/* Whether the following break lines (setting wrap); on at first. */
void wrap_switch(bool on);
/* Append text, so broken for so many columns if lines are. */
int wrap_into(struct buf *out, const char *text, int width);
/* Whole lines to f, in a colour of f's (term.h) and made harmless: broken between words if f is a
 * terminal, and as far in as they begin. */
void wrap_lines(FILE *f, const char *color, const char *text);
/* The same of figures between commas or semicolons, whose numbers stay with their words. */
void wrap_figures(FILE *f, const char *color, const char *text);
/* The same behind a label, which alone is coloured. */
void wrap_labelled(FILE *f, const char *color, const char *label, const char *text);
/* The same of one line, made as printf does, its newline added. */
void wrap_say(FILE *f, const char *color, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* "wrote PATH" and what else there is to say of it, on standard output. */
void wrap_wrote(const char *path, const char *what);

/* text and a newline on standard output, whose cursor is at column `at`; what goes on in another
 * line begins at column `hang`. */
void wrap_hanging(const char *text, int at, int hang);
/* "  what         text", a line of standard output, text below itself. */
void wrap_row(const char *what, const char *text);

/* text from column `indent` of standard output on, broken at spaces, not at tabs, which are shown
 * as spaces, and not in a command in backquotes; the cursor is at column `at`. */
void wrap_column(const char *text, int at, int indent);
/* The same from where the cursor is. */
void wrap_beside(const char *text, int indent);

#endif
