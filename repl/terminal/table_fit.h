#ifndef PRATTLE_REPL_TERMINAL_TABLE_FIT_H
#define PRATTLE_REPL_TERMINAL_TABLE_FIT_H
/*
 * A table for a terminal that may be too narrow for it.
 */
#include "repl/terminal/table.h"

/*
 * The table as aligned text, appended to out. Where it is wider than `width` the columns of `spare`
 * (a bit each, not the first) and those with nothing in them are left out, and what is in the first
 * column is broken between words, or has lines of its own with the other cells below it, in one
 * line. Where that is too wide still, those of `more` are left out too, and the other cells have as
 * many lines as they need. *fit: how it fitted.
 */
enum table_fit { TABLE_WHOLE, TABLE_LESS_SPARE, TABLE_LESS_MORE };
int table_fit(const struct table *t, unsigned spare, unsigned more, int width, struct buf *out,
              enum table_fit *fit);

#endif
