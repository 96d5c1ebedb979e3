#ifndef PRATTLE_REPL_TERMINAL_PROGRESS_H
#define PRATTLE_REPL_TERMINAL_PROGRESS_H
/*
 * Progress in the status line of standard error, where it has one: a few times a second, with
 * what is left; notes always.
 */
#include "model/base/progress.h"

/* Borrowed; draws nothing for work that is over soon. */
const struct progress *progress_show(void);
/* Take the status line away, progress or another, before something else is written; what is
 * reported next is other work. */
void progress_wipe(void);
/* The latter alone: another line is drawn in its place. */
void progress_forget(void);
/* "prattle: ..." on standard error, control characters made visible. */
void progress_warn(const char *sentence);

#endif
