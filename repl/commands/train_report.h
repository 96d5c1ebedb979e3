#ifndef PRATTLE_REPL_COMMANDS_TRAIN_REPORT_H
#define PRATTLE_REPL_COMMANDS_TRAIN_REPORT_H
/*
 * What :train tells without training, on standard output.
 */
#include "repl/session/repl.h"
#include "train/config/run_config.h"

/* What a run by c, which is resolved here, would be refused for; else memory, steps and time of it,
 * and what it would be by the processes that scaling asks for (NULL: none). */
struct scaling_request;
int train_plan(struct repl *r, struct run_config *c, const struct scaling_request *scaling);
/* The settings of the run in memory, or those that n words make, each with its origin. */
int train_show(struct repl *r, char *const *words, int n);
/* Where the run of a folder is, which another process may have open; NULL: the one in memory, or
 * the latest. */
int train_status(struct repl *r, const char *folder);
/* Of memory, in all the program did: what a plan is to be held against. */
double train_peak_gib(void);

#endif
