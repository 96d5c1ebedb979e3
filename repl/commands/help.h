#ifndef PRATTLE_REPL_COMMANDS_HELP_H
#define PRATTLE_REPL_COMMANDS_HELP_H

/* What --help prints: usage, commands, options. */
void help_usage(void);

#endif
