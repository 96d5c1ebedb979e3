#ifndef PRATTLE_TRAIN_PARALLEL_PLUGIN_H
#define PRATTLE_TRAIN_PARALLEL_PLUGIN_H
/*
 * The transport over MPI, which is a file of its own beside the program or in PREFIX/lib/prattle:
 * the program needs MPI only where several processes work together.
 */
#include "train/parallel/transport.h"

/* Of the processes that a launcher (mpirun, srun) has started together with this one. */
struct launch {
    int size;   /* 1: no launcher has, or this process alone; 0: the launcher does not say */
    int rank;   /* as far as it says, else 0 */
    bool there; /* a launcher has started this process, if alone */
};
struct launch launch_find(void);
/* Children of this process are of no such world. */
void launch_forget(void);

/* ERR_MISSING: the environment says so of an mpirun that is gone, as in a shell that it has left;
 * MPI would end the process with a page of text. */
int launch_check(void);
/* ERR_UNSUPPORTED: mpirun has started this process, alone, and starts no other mpirun from it. */
int launch_check_nested(void);

/* ERR_UNSUPPORTED: torchrun has started this process as one of several, each of which would train
 * on its own. */
int launch_refuse(void);

/* ERR_MISSING: the file, or MPI, is not there, and what to install. */
int plugin_check(void);
/* Its path. */
enum { PLUGIN_PATH = 4096 };
int plugin_find(char path[PLUGIN_PATH]);
/* Load it and have it join the world of the launcher, which started so many (0: unknown). */
int plugin_open(struct transport *out, int started);

#endif
