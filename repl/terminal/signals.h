#ifndef PRATTLE_REPL_TERMINAL_SIGNALS_H
#define PRATTLE_REPL_TERMINAL_SIGNALS_H
/*
 * Ctrl-C stops what is running, by interrupt_raise (model/base/progress.h); SIGTERM and SIGHUP stop
 * it and ask to leave. SIGINT and SIGHUP that were ignored when the program began (nohup) stay so.
 */
#include <stdbool.h>

void signals_install(void);
/* For a handler: whether this is another thread than the program's first, which is given the signal
 * in its place. A thread that a library begins may be given a signal that the caller waits for. */
bool signals_forward(int sig);
/* This signal too stops what is running. */
void signals_take(int sig);
/* The signal that asked to leave, 0 if none. */
int signals_leaving(void);
/* Whether the program was stopped and goes on (SIGCONT), since the last call. */
bool signals_continued(void);
/* Whether the terminal may have another size (SIGWINCH), since the last call. */
bool signals_resized(void);

#endif
