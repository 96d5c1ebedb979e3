#ifndef PRATTLE_REPL_COMMANDS_TRAIN_EVENTS_H
#define PRATTLE_REPL_COMMANDS_TRAIN_EVENTS_H
/*
 * What a run of :train shows while it trains.
 */
#include "repl/session/repl.h"

/* Lines, bars and samples on the terminal, for the run that r is about to have. */
struct run_events train_events(struct repl *r);

#endif
