#ifndef PRATTLE_REPL_TERMINAL_KEYS_H
#define PRATTLE_REPL_TERMINAL_KEYS_H
/*
 * How Readline gets its keys: from the terminal, with Ctrl-C, a resized terminal and pastes. What
 * is pasted is text, whatever is in it: newlines stay, other control characters go, and nothing of
 * it is a key. Readline's own reading of pastes is not used: one that Ctrl-C or the end of input
 * cuts off runs over its buffer (8.2).
 */
#include <stdbool.h>

/* Before the first line, once Readline has read its settings. */
void keys_open(void);
/* Before each line: the terminal may have another size by now. */
void keys_begin_line(void);
/* Whether Ctrl-C ended the line. */
bool keys_interrupted(void);

#endif
