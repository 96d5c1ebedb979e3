#ifndef PRATTLE_REPL_COMMANDS_OTHER_WORDS_H
#define PRATTLE_REPL_COMMANDS_OTHER_WORDS_H

/* The command at the prompt that a word stands for which is none: other programs', an evaluation's
 * or a preset's. "reset text" of clear; borrowed until the next call. NULL: the word says nothing.
 */
const char *other_word_command(const char *word);

#endif
