#ifndef PRATTLE_HELP_H
#define PRATTLE_HELP_H

/* What --help prints: usage, commands, options, out of the tables. */
void help_usage(void);

#endif
