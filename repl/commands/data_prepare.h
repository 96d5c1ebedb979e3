#ifndef PRATTLE_REPL_COMMANDS_DATA_PREPARE_H
#define PRATTLE_REPL_COMMANDS_DATA_PREPARE_H
/* :data prepare and :data convert */
struct repl;
struct call;

int data_prepare(struct repl *r, const struct call *c);
int data_convert(struct repl *r, const struct call *c);
/* "format=", and so on. */
const char *data_prepare_word(int i);
void data_prepare_explain(void);

#endif
