#ifndef PRATTLE_REPL_SESSION_BATCH_LINES_H
#define PRATTLE_REPL_SESSION_BATCH_LINES_H
/*
 * Prompts a line, answers a line, in the order of the lines.
 *
 *   text    prompt and answer (the answer alone when echo is off), newlines inside as
 *           \n, backslashes doubled
 *   raw     as it is, NUL after each
 *   jsonl   objects in, objects out
 *
 * A line that fails answers for itself: {"error"} in jsonl, else an empty line and a
 * sentence with its number on standard error.
 */
#include "repl/session/repl.h"

/* Read prompts from fd up to its end; out NULL: standard output, else a file to make
 * (call.force: over what is there). Non-zero also when a line failed (the rest is
 * done). A reader of standard output that leaves ends it quietly, with 0. */
int batch_lines(struct repl *r, int fd, const char *out);

#endif
