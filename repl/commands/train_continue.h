#ifndef PRATTLE_REPL_COMMANDS_TRAIN_CONTINUE_H
#define PRATTLE_REPL_COMMANDS_TRAIN_CONTINUE_H
/* The run in memory, trained and reported. */
#include "repl/session/repl.h"

/*
 * Train until the end or Ctrl-C. At a prompt that is a pause; in the shell, and where
 * the program was asked to leave, it is kept for another time. Ranks other than 0 train along.
 */
int train_continue(struct repl *r, bool shell);
/* The template of prompts, in fresh memory; NULL: no memory. */
char *train_template(const struct repl *r);
/* A note, at a prompt, where the model has brought another than `before`. */
void train_note_template(const struct repl *r, const char *before);

#endif
