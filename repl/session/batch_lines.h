#ifndef PRATTLE_REPL_SESSION_BATCH_LINES_H
#define PRATTLE_REPL_SESSION_BATCH_LINES_H
/*
 * Batches: one prompt per line in, one answer per line out, in the order of the lines.
 *
 *   text    prompt and answer (the answer alone if echo is off), newlines in them as \n,
 *           backslashes doubled
 *   raw     unescaped, a NUL after each
 *   jsonl   JSON objects in, JSON objects out
 *
 * A line that fails does not end the batch: it gives {"error"} in jsonl, else an empty line, and a
 * message with its number on standard error. Input in UTF-16 is read by its byte order mark; a line
 * that is not UTF-8 fails.
 */
#include "repl/session/repl.h"

/*
 * Answer the prompts from fd up to its end.
 *
 * path     of the file that fd is; NULL: standard input
 * out      a file to create (call.force: to overwrite); NULL: standard output
 * returns  0, also if the reader of standard output has left; an error code also if only some lines
 *          failed and the others were answered
 */
int batch_lines(struct repl *r, int fd, const char *path, const char *out);

#endif
