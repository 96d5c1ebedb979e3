#ifndef PRATTLE_REPL_TERMINAL_HISTORY_TEXT_H
#define PRATTLE_REPL_TERMINAL_HISTORY_TEXT_H
/*
 * The text of the file of prompts. An entry is a heading, "#TIME +" with the seconds since 1970,
 * and the prompt's lines. Of these an empty one and one that begins with # and a digit, whatever
 * spaces are before, have a space more in front. So readline reads the file as well, but for that
 * space. A heading of readline's own, "#TIME", has lines below it without spaces added; a line
 * above all headings is a prompt.
 */
#include "model/base/buf.h"

/* Append an entry; time: "#TIME", as readline has it. */
int history_text_add(struct buf *out, const char *time, const char *prompt);
/* The prompt at *at becomes what out has, and *at the place behind it. Empty: there is none. */
int history_text_next(struct buf *out, const char **at, const char *end);

#endif
