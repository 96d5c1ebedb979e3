#ifndef PRATTLE_REPL_BENCH_CHILD_H
#define PRATTLE_REPL_BENCH_CHILD_H
/* Another program, run to its end. */
#include "model/base/buf.h"

#include <stdbool.h>

/* Run program (a path, or a name on PATH) with argv, `in` (NULL: nothing) as its standard input,
 * and append what it prints to out; what it says on standard error is nobody's if `hush`. ERR_IO:
 * it could not be run, or failed; the sentence begins with argv[0]. ERR_INTERRUPTED after Ctrl-C.
 */
int child_run(struct buf *out, const char *program, char *const argv[], const char *in, bool hush);

#endif
