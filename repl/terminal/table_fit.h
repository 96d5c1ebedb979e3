#ifndef PRATTLE_REPL_TERMINAL_TABLE_FIT_H
#define PRATTLE_REPL_TERMINAL_TABLE_FIT_H
/*
 * A table for a terminal that may be too narrow for it.
 */
#include "repl/terminal/table.h"

/*
 * The table as aligned text, appended to out. Where it is wider than `width` the columns of `spare`
 * (a bit each, not the first) are left out, and what is in the first column is broken between
 * words, and inside of words that are wider than that. Where that is too wide still, those of
 * `more` are left out too. *fit: how it fitted.
 */
enum table_fit { TABLE_WHOLE, TABLE_LESS_SPARE, TABLE_LESS_MORE };
int table_fit(const struct table *t, unsigned spare, unsigned more, int width, struct buf *out,
              enum table_fit *fit);

#endif
