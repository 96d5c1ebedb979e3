#ifndef PRATTLE_REPL_PROGRESS_H
#define PRATTLE_REPL_PROGRESS_H
/*
 * Progress on standard error, when that is a terminal: one line, a few times a
 * second, with what is left; notes always.
 */
#include "model/base/progress.h"

/* Borrowed; draws nothing for work that is over soon. */
const struct progress *progress_show(void);
/* Take the line away before something else is written; what is reported next is other work. */
void progress_wipe(void);
/* "prattle: ..." on standard error, control characters made visible. */
void progress_warn(const char *sentence);

#endif
