#ifndef PRATTLE_SIGNALS_H
#define PRATTLE_SIGNALS_H
/*
 * Ctrl-C stops what is running; SIGTERM and SIGHUP stop it and ask to leave.
 */
void signals_install(void);
/* The signal that asked to leave, 0 if none. */
int signals_leaving(void);

#endif
