#ifndef PRATTLE_REPL_TERMINAL_LINE_H
#define PRATTLE_REPL_TERMINAL_LINE_H
/*
 * Reading lines from a person: editing, history, completion. The only user of
 * readline.
 */
#include "model/base/buf.h"

#include <stdbool.h>

/* What may stand at the end of `before` (the line up to the cursor). */
struct completion {
    char **words; /* [n], owned; behind one that ends in = the cursor stays there */
    int n;
    bool paths; /* file names as well */
};
int completion_add(struct completion *c, const char *word);
void completion_release(struct completion *c);

/* INPUTRC: as Readline's own settings have it. */
enum editing_mode { EDITING_INPUTRC, EDITING_EMACS, EDITING_VI };

struct line_config {
    int editing_mode; /* enum editing_mode */
    int history;      /* entries kept */
    /* before: the line up to the word, or up to KEY= in it; word: what there is of it. */
    void (*complete)(struct completion *out, const char *before, const char *word);
};

/* Also reads the history. A history that cannot be read or written is no failure:
 * *note then says so (fresh memory), else NULL. */
void line_open(const struct line_config *c, char **note);
void line_close(void);
/* Take over a change of settings. */
void line_configure(const struct line_config *c);

enum line_event { LINE_TEXT, LINE_QUOTED, LINE_END, LINE_INTERRUPTED };
/*
 * One text: a line, or several by a trailing backslash or between """ and """.
 * LINE_QUOTED: it stood between those, and is a prompt whatever it begins with.
 * LINE_INTERRUPTED: Ctrl-C, or no memory for the text; *was_empty tells whether there was nothing
 * to lose. LINE_END: Ctrl-D, or a signal to leave.
 */
enum line_event line_read(struct buf *out, bool *was_empty);

/* A key that the next line begins with, as if it were typed then. */
void line_type(char key);

/* Entry i of the history counted from the oldest; NULL past the end; borrowed. */
const char *line_history(int i);

#endif
