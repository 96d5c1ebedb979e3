#ifndef PRATTLE_REPL_COMMANDS_COMPLETE_H
#define PRATTLE_REPL_COMMANDS_COMPLETE_H
/* What Tab offers, out of the tables of commands and settings. */
#include "repl/terminal/line.h"

/* before: the line up to the word at the cursor, or up to KEY=; word: what there is of it. */
void complete(struct completion *out, const char *before, const char *word);

#endif
