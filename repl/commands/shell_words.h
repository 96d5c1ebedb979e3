#ifndef PRATTLE_REPL_COMMANDS_SHELL_WORDS_H
#define PRATTLE_REPL_COMMANDS_SHELL_WORDS_H
#include <stdbool.h>

/* Whether a word of the shell is a command of other programs that prattle has not: run, pull. */
bool shell_word_is(const char *word);
/* The command at the prompt that does what such a word says: "hub" of ls. NULL: none. */
const char *shell_word_at_prompt(const char *word);
/* What to type in the shell instead of words [n], whose first is such a word. Returns ERR_MISSING.
 */
int shell_word_refuse(char *const *words, int n);

#endif
