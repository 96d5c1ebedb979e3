#ifndef PRATTLE_REPL_TERMINAL_STATUS_LINE_H
#define PRATTLE_REPL_TERMINAL_STATUS_LINE_H
/*
 * The live line: the last row of standard error, drawn over again as work goes on, and taken
 * away before anything else is written. There is one, whoever draws it.
 */
#include <stdbool.h>

/* Whether there is a place for it: a terminal that takes escape sequences. */
bool live_can(void);
/* Draw it, in the place of what it was: as much of text as fits. Needs live_can. */
void live_draw(const char *text);
void live_wipe(void);

#endif
