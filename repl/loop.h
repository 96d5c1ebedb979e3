#ifndef PRATTLE_REPL_LOOP_H
#define PRATTLE_REPL_LOOP_H
/*
 * The loop that reads prompts and commands from a person.
 */
#include "repl/session/repl.h"

/* Read and answer until the end of input or :quit. */
int repl_run(struct repl *r);

#endif
