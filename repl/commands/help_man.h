#ifndef PRATTLE_REPL_COMMANDS_HELP_MAN_H
#define PRATTLE_REPL_COMMANDS_HELP_MAN_H
/* The man page, troff, made of the tables; appended to out. */
#include "model/base/buf.h"

int help_man_page(struct buf *out);

#endif
