#ifndef PRATTLE_REPL_COMMANDS_TRAIN_LAUNCH_H
#define PRATTLE_REPL_COMMANDS_TRAIN_LAUNCH_H
/* Runs of several processes (execution.replicas), begun without mpirun. */
#include "repl/session/repl.h"
#include "train/config/run_config.h"

/* Whether a run by c is for several processes that are still to be launched. One that goes on does
 * without them where only its checkpoint names them and there is no MPI. */
bool train_is_launched(const struct run_config *c);
/* Whether the weights that would be trained are in files, which other processes can read: those of
 * the model in memory, where c names no other. ERR_MISMATCH. */
int train_check_files(struct repl *r, const struct run_config *c);
/*
 * Have mpirun run "train" and the n words. At a prompt the session has the weights of the newest
 * checkpoint afterwards.
 *
 * c        resolved
 * returns  as train_continue
 */
int train_launch(struct repl *r, const struct run_config *c, char *const *words, int n, bool shell);

#endif
