#ifndef PRATTLE_REPL_TERMINAL_PAGER_H
#define PRATTLE_REPL_TERMINAL_PAGER_H
/*
 * Text that may be longer than the screen. Where a person sits at both ends it stops when the
 * screen is full: space goes on by a page, Enter by a line, q or Ctrl-C leaves, and any other key
 * leaves too and is the first of the next line typed.
 */
#include <stddef.h>

/* n bytes of whole lines, harmless to a terminal, none wider than it. */
void pager_show(const char *text, size_t n);
/* The same of what is printed between the two on standard output, for commands that print lists and
 * little else. Nothing is held back where no person sits at both ends. */
void pager_begin(void);
void pager_end(void);

#endif
