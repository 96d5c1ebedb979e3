#ifndef PRATTLE_REPL_COMMANDS_HELP_LISTS_H
#define PRATTLE_REPL_COMMANDS_HELP_LISTS_H
/* Lists of all commands and settings, for people and as tables. */
#include "repl/settings/options.h"

int help_commands(enum table_format format, bool shell);
/* Of a group, NULL: of all. */
int help_settings(const char *group, enum table_format format, bool shell);
/* What the i-th group of settings is called, NULL past the last. */
const char *help_group_at(int i);
/* The last word of a group's heading in lower case: "machine" of "Model and machine". */
void help_group_word(char *out, size_t n, const char *heading);

#endif
