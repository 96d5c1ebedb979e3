#ifndef PRATTLE_REPL_TERMINAL_STATUS_LINE_H
#define PRATTLE_REPL_TERMINAL_STATUS_LINE_H
/*
 * The status line: the last row of standard error, drawn over again as work goes on, and taken
 * away before anything else is written. There is one, whoever draws it.
 */
#include <stdbool.h>

/* Whether there is a place for it: a terminal that takes escape sequences. */
bool status_line_available(void);
/* Draw it, in the place of what it was: as much of text as fits. Needs status_line_available. */
void status_line_draw(const char *text);
void status_line_wipe(void);

#endif
