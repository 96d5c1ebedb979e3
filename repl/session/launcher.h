#ifndef PRATTLE_REPL_SESSION_LAUNCHER_H
#define PRATTLE_REPL_SESSION_LAUNCHER_H
/*
 * This program run by several processes under mpirun, as if it were this process's own work: what
 * rank 0 prints goes where this process prints, Ctrl-C stops the ranks as it would stop this
 * process, and their sentence is this process's. mpirun and its ranks end with this process,
 * however it ends.
 */
#include "repl/session/launcher_notes.h"

#include <stdbool.h>

struct launcher_call {
    char *const *words; /* [n], behind the program's name */
    int n, size;
    const char *hosts; /* mpirun's hostfile; "": this host */
    bool prompt;       /* what ranks say is for a prompt, which is there again afterwards */
};

/* ERR_MISSING: MPI is not there, and what to install. */
int launcher_check(void);
/*
 * 0, or the code of rank 0 with its sentence; ERR_INTERRUPTED after Ctrl-C, once rank 0 has saved
 * what there was. ERR_IO: the ranks ended without a word, one was lost, or standard output did not
 * take all that they print.
 */
int launcher_run(const struct launcher_call *c, struct launcher_end *end);

#endif
