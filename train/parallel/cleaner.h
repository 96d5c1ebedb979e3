#ifndef PRATTLE_TRAIN_PARALLEL_CLEANER_H
#define PRATTLE_TRAIN_PARALLEL_CLEANER_H
/*
 * What Open MPI has in files while its ranks are at work, its session directory and their shared
 * memory, mpirun removes at its end; not where it is killed.
 */
#include <sys/types.h>

/* The first rank of each host, before MPI is loaded: have a process of its own, out of reach of
 * what ends the ranks, wait for the end of who has started them and remove what is left. Others,
 * and under other launchers: nothing. */
void cleaner_start(void);
/* Whoever is about to start mpirun: whether there is room for them here. ERR_IO. */
int cleaner_check_room(void);
/* Whoever has started mpirun, once that was killed: the same where it came before there were
 * ranks. */
void cleaner_remove(pid_t mpirun);

#endif
