#ifndef PRATTLE_REPL_COMMANDS_HELP_ENTRY_H
#define PRATTLE_REPL_COMMANDS_HELP_ENTRY_H
/* Everything on one command or setting. */
#include "repl/commands/command.h"
#include "repl/settings/options.h"

void help_explain_command(const struct command *c, bool shell);
/* now: the value in force. */
void help_explain_setting(const struct options *now, const struct setting *o);
/* A setting of training runs. */
void help_explain_run_setting(const struct setting *row, bool shell);
/* A setting of data prepare. */
void help_explain_prepare_setting(const struct setting *row, bool shell);

#endif
