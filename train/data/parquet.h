#ifndef PRATTLE_TRAIN_DATA_PARQUET_H
#define PRATTLE_TRAIN_DATA_PARQUET_H
/*
 * A column of texts of an Apache Parquet file, or those of pairs, as JSON lines. Read by Arrow's
 * GLib libraries (parquet-glib and arrow-glib), which are opened when the first such file is: few
 * machines have them. One row group is in memory at a time.
 */
#include "model/base/buf.h"

#include <stdbool.h>

struct pairs;
struct parquet;

/* Whether n bytes begin such a file. */
bool parquet_is_file(const char *head, size_t n);
/*
 * name     what messages call the file
 * column   its name, which the lines have too; borrowed
 * pairs    whose fields are the columns instead, as in an object of JSON; borrowed. NULL: none
 * returns  0; ERR_MISSING: the libraries are not installed, and where they are from, or there is no
 *          such column, and which there are; ERR_FORMAT: the library does not take the file, or the
 *          column has no texts
 */
int parquet_open(struct parquet **out, const char *path, const char *name, const char *column,
                 const struct pairs *pairs);
/* Whether there are the libraries: 0 or ERR_MISSING, as parquet_open. */
int parquet_load(void);
void parquet_close(struct parquet *q); /* accepts NULL */
/* Append the lines of some rows; *more false, and none, where there are no more. *done: the share
 * of row groups that are read, 0 to 1. Rows without one of the texts are left out. */
int parquet_read(struct parquet *q, struct buf *out, bool *more, double *done);

#endif
