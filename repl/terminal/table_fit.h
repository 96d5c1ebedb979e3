#ifndef PRATTLE_REPL_TERMINAL_TABLE_FIT_H
#define PRATTLE_REPL_TERMINAL_TABLE_FIT_H
/*
 * A table for a terminal that may be too narrow for it.
 */
#include "repl/terminal/table.h"

/*
 * The table as aligned text, appended to out. Where it is wider than `width` the columns of `spare`
 * (a bit each, not the first) are left out, and what is in the first column is broken between
 * words, and inside of words that are wider than that. *whole: nothing was left out.
 */
int table_fit(const struct table *t, unsigned spare, int width, struct buf *out, bool *whole);

#endif
