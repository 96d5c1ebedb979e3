#ifndef PRATTLE_REPL_COMMANDS_HELP_BASH_H
#define PRATTLE_REPL_COMMANDS_HELP_BASH_H
/* Completion in bash, made of the tables; appended to out. */
#include "model/base/buf.h"

int help_bash_completion(struct buf *out);

#endif
