#ifndef PRATTLE_REPL_COMMANDS_HELP_PAGES_H
#define PRATTLE_REPL_COMMANDS_HELP_PAGES_H
/* The first page of help: of the prompt, and of the shell. */
void help_overview(void);
void help_usage(void);

#endif
