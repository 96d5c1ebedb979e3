#ifndef PRATTLE_REPL_TERMINAL_HINT_H
#define PRATTLE_REPL_TERMINAL_HINT_H
/*
 * What a sentence tells to type. Sentences name commands as the prompt has them, in backquotes:
 * "`:train resume`". In the shell those that work there are shown as "`prattle train resume`".
 */
#include "model/base/buf.h"

#include <stdbool.h>

/* Which commands, by the n bytes of their name, work where the program runs: NULL for the prompt,
 * where all stay as they are. */
void hint_place(bool (*in_shell)(const char *name, size_t n));
/* Append the sentence as it is to be read there. */
int hint_sentence(struct buf *out, const char *sentence);

#endif
