#ifndef PRATTLE_REPL_SESSION_PROCESSES_H
#define PRATTLE_REPL_SESSION_PROCESSES_H
/*
 * This process as a rank of several (train/parallel/world.h): where its lines go, and what stops
 * it.
 */

/* The environment of ranks that prattle itself has launched: columns of the terminals that their
 * standard output and error come to, "80 80"; 0: it is none. */
#define PROCESSES_TERMINALS "PRATTLE_TERMINALS"

/* As world_open. What ranks print is plain, unless whoever launched them has said where it goes: a
 * launcher may give them a pseudo-terminal even where its own output is a file. */
int processes_open(void);

#endif
