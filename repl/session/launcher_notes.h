#ifndef PRATTLE_REPL_SESSION_LAUNCHER_NOTES_H
#define PRATTLE_REPL_SESSION_LAUNCHER_NOTES_H
/*
 * How processes that were launched have ended: what their rank 0 said, what ranks said of one that
 * was lost (processes.h), and what mpirun said.
 */
#include "model/base/buf.h"
#include "repl/session/launcher_start.h"

#include <stdbool.h>
#include <stdint.h>

struct launcher_end {
    bool ran;    /* rank 0 has said how it ended */
    bool paused; /* and before, where it has paused */
    bool lost;   /* a process, which ended them all */
    bool silent; /* that is all that is known of it: its host may be gone */
    int rank;    /* that one; -1: mpirun, or where it is silent a host, whose name may be "" */
    int n;       /* it, and others of its host */
    char host[64], why[160];
    int64_t saved; /* the step that rank 0 then saved; -1: none */
};

/* What comes, as it comes. */
struct launcher_notes {
    struct launcher_start start;
    bool begun; /* ranks have said something */
    bool ended; /* rank 0 has said how */
    struct buf ending;
    bool in_notice;    /* of mpirun's, between two rules */
    struct buf notice; /* all of them, in one line */
    bool told, over;   /* of a rank that was lost; and there is nothing more to come */
    bool last;         /* mpirun has said how a process ended, which is the last that it does */
    struct launcher_end end;
    struct {
        int rank;
        char host[64], why[160];
    } asked;        /* the first that says that a signal told it to end; why "": none */
    uint64_t kills; /* by the kernel, of processes for their memory, before */
};

/* Of so many ranks. ERR_NOMEM. */
int launcher_notes_begin(struct launcher_notes *l, int size);
void launcher_notes_release(struct launcher_notes *l);
/* A line of standard error, its end of line included: whether it is a note, and not for the user.
 */
int launcher_notes_line(struct launcher_notes *l, const char *line, size_t n, bool *taken);
/* Every second at least: whether a rank has fallen silent before heartbeats could tell, which is
 * then a loss as others are. */
bool launcher_notes_miss(struct launcher_notes *l);
/* mpirun has ended by this status of waitpid, after so many of Ctrl-C: the code and sentence of
 * launcher_run, and l->end. */
int launcher_notes_end(struct launcher_notes *l, int status, int interrupts);

#endif
