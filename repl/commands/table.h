#ifndef PRATTLE_REPL_COMMANDS_TABLE_H
#define PRATTLE_REPL_COMMANDS_TABLE_H
/*
 * The table of commands: to add one, write cmd_NAME in a file of this folder, declare it in
 * commands.h and add its row.
 */
#include "repl/commands/command.h"

extern const struct command command_table[]; /* the last has no name */

#endif
