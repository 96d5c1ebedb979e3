#ifndef PRATTLE_REPL_COMMANDS_PLAIN_WORDS_H
#define PRATTLE_REPL_COMMANDS_PLAIN_WORDS_H
/*
 * Words that leave other programs, or ask them for help: alone in a line they are commands here
 * too, although they have no colon.
 */

/* The command that a line stands for, NULL where it is a prompt. */
const char *plain_command(const char *line);
/* The prompt of a line that begins with "::": behind both before such a word, else behind one. */
const char *plain_prompt(const char *line);

#endif
