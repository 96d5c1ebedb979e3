#ifndef PRATTLE_REPL_TERMINAL_TABLE_H
#define PRATTLE_REPL_TERMINAL_TABLE_H
/*
 * A table of short texts: for a person aligned, for documents Markdown, for programs
 * CSV (RFC 4180) or JSON (an array of objects; cells that are numbers are numbers).
 */
#include "model/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum table_format { TABLE_TEXT, TABLE_MARKDOWN, TABLE_CSV, TABLE_JSON };

struct table {
    const char *const *heads; /* [n_columns], borrowed */
    int n_columns, n_rows;
    struct buf *cells; /* [n_rows][n_columns], owned */
};
void table_init(struct table *t, const char *const *heads, int n_columns);
void table_release(struct table *t);
/* Begin a row of empty cells. */
int table_row(struct table *t);
/* Write cell `column` of the last row. */
int table_cell(struct table *t, int column, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with text that is not ours, without what would move a terminal (term_visible); up to n
 * bytes or its NUL. */
int table_text(struct table *t, int column, const char *text, size_t n);
/* The whole table, appended to out. */
int table_format(const struct table *t, enum table_format format, struct buf *out);

#endif
