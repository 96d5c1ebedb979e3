#ifndef PRATTLE_REPL_COMMANDS_PLAIN_WORDS_H
#define PRATTLE_REPL_COMMANDS_PLAIN_WORDS_H
/*
 * Words that leave other programs, or ask them for help: alone in a line, or "help" with the name
 * of a command, they are commands here too, although they have no colon. And where a colon is one.
 */
#include <stdbool.h>

enum { PLAIN_COMMAND_BYTES = 64 };

/* The command that a line stands for, in out; false where the line is a prompt. */
bool plain_command(char out[PLAIN_COMMAND_BYTES], const char *line);
/* Behind the colon of a line that is a command, NULL: it is a prompt. Behind spaces, as pasted
 * lines have them, a colon begins only a command that there is.
 */
const char *plain_colon(const char *line);
/* Behind the slash of "/set top_k 3", as other programs have commands; NULL: the line is a prompt.
 */
const char *plain_slash(const char *line);
/* The prompt of a line that begins with "::": behind both before such a word, else behind one. */
const char *plain_prompt(const char *line);

#endif
