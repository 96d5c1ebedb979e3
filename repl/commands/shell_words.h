#ifndef PRATTLE_REPL_COMMANDS_SHELL_WORDS_H
#define PRATTLE_REPL_COMMANDS_SHELL_WORDS_H
#include <stdbool.h>

/* Whether a word of the shell is a command of other programs that prattle has not: run, pull. */
bool shell_word_is(const char *word);
/* What to type instead of words [n], whose first is such a word. Returns ERR_MISSING. */
int shell_word_refuse(char *const *words, int n);

#endif
