#ifndef PRATTLE_REPL_COMMANDS_DATA_CHECK_H
#define PRATTLE_REPL_COMMANDS_DATA_CHECK_H
/* :data check */
struct repl;
struct call;

int data_check(struct repl *r, const struct call *c);

#endif
