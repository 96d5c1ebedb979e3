#ifndef PRATTLE_REPL_BENCH_CHILD_H
#define PRATTLE_REPL_BENCH_CHILD_H
/* Another program, run to its end. */
#include "model/base/buf.h"

/* Where a program's standard error goes: to this program's, to its standard output, or into memory
 * until it has ended. */
enum child_errors { CHILD_SHOWS, CHILD_MERGES, CHILD_KEEPS };

/* Run program (a path, or a name on PATH) with argv, `in` (NULL: nothing) as its standard input,
 * and append what it prints to out. ERR_IO: it could not be run, failed, or was killed; the
 * sentence begins with name, and ends with the signal, or with the last line of a program whose
 * errors are merged or kept. ERR_INTERRUPTED after Ctrl-C; the program has ended then. */
int child_run(struct buf *out, const char *name, const char *program, char *const argv[],
              const char *in, enum child_errors errors);

/* How many programs this one has run so. */
int child_count(void);

#endif
