#ifndef PRATTLE_COMPLETE_H
#define PRATTLE_COMPLETE_H
/* What Tab offers, out of the tables of commands and settings. */
#include "repl/line.h"

/* before: the line up to the word at the cursor, or up to KEY=; word: what there is of it. */
void complete(struct completion *out, const char *before, const char *word);

#endif
