#ifndef PRATTLE_REPL_COMMANDS_HELP_H
#define PRATTLE_REPL_COMMANDS_HELP_H
/* The parts of help, and of --help, out of the tables. */
#include "repl/terminal/table.h"

/* What --help prints: usage, commands, options. */
void help_usage(void);
/* text from column `indent` on, broken at blanks; the cursor is at column `at`. */
void help_flow(const char *text, int at, int indent);

/* systems, presets, training. */
bool help_is_topic(const char *name);
int help_topic(const char *name, enum table_format format);
/* A setting of training runs. */
void help_training_row(const struct setting *row);

#endif
