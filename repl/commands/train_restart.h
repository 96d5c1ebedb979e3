#ifndef PRATTLE_REPL_COMMANDS_TRAIN_RESTART_H
#define PRATTLE_REPL_COMMANDS_TRAIN_RESTART_H
/*
 * How launched processes go on without one that is lost (execution.elastic). Open MPI 4 cannot take
 * a process out of its world, so the others begin again: from the step that rank 0 has saved
 * meanwhile, or from the newest checkpoint. Replicas are whole or not there; where fewer are left
 * than one has, they regroup.
 */
#include "repl/session/launcher.h"
#include "train/config/regroup.h"

struct restart {
    const char *folder; /* of the run; borrowed */
    int size;           /* processes, of the last start; 0: none yet */
    int whole;          /* processes of a start by all hosts */
    int stages;         /* processes of a replica, by the settings */
    bool regrouped;     /* fewer: a single replica by another layout */
    struct regroup layout;
    int64_t step;  /* of the checkpoint they go on from; -1: from the beginning */
    int64_t first; /* of the newest before the first start; -1: there was none */
    char *hosts;   /* owned; the hostfile without hosts that are gone. NULL: as it is */
    int hosts_fd;  /* that file, while hosts is not NULL */
    int idle;      /* starts in a row that lost mpirun and came to no further step */
};

/* The run's hostfile, where it names one, is there and one that mpirun understands. ERR_MISSING,
 * ERR_FORMAT. */
int restart_check_hosts(const struct run_config *c);
/* Before the first start by a->size processes: hosts that cannot be used are left out, and some of
 * the processes, where the run is elastic; else they are named. ERR_IO, ERR_FORMAT,
 * ERR_INTERRUPTED.
 */
int restart_begin(struct restart *a, const struct run_config *c);
/* Whether another start may bring the run further: it is told in a sentence, and what there is to
 * know of it is in *a. */
bool restart_plan(struct restart *a, const struct run_config *c, const struct launcher_end *end);
void restart_release(struct restart *a);

#endif
