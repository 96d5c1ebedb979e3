#ifndef PRATTLE_MODEL_BASE_CHILD_H
#define PRATTLE_MODEL_BASE_CHILD_H
/* Another program, started or run to its end. */
#include "model/base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

/* What a program is given as its standard files. */
struct child_files {
    int in; /* -1: nothing to read */
    int out;
    int err;    /* -1: where this program's errors go */
    bool apart; /* in a session of its own, out of reach of the terminal's Ctrl-C */
};

/* Start program (a path, or a name on PATH) with argv and go on; the caller waits for *pid, or does
 * not. Signals that this program ignores, SIGPIPE and SIGXFSZ, end that one as usual. ERR_MISSING:
 * there is none; ERR_IO: it could not be run. The sentence begins with name. */
int child_start(pid_t *pid, const char *name, const char *program, char *const argv[],
                const struct child_files *files);

/* The same for these signals, between a fork and an exec. */
void child_reset_signals(void);

/* Where a program's standard error goes: to this program's, to its standard output, or into memory
 * until it has ended. */
enum child_errors { CHILD_SHOWS, CHILD_MERGES, CHILD_KEEPS };

/* Run program (a path, or a name on PATH) with argv, `in` (NULL: nothing) as its standard input,
 * and append what it prints to out. ERR_IO: it could not be run, failed, or was killed; the
 * sentence begins with name, and ends with the signal, or with the last line of a program whose
 * errors are merged or kept. ERR_MISSING: there is none. ERR_INTERRUPTED after Ctrl-C; the program
 * has ended then. */
int child_run(struct buf *out, const char *name, const char *program, char *const argv[],
              const char *in, enum child_errors errors);

/* How many programs this one has run so. */
int child_count(void);

#endif
