#ifndef PRATTLE_REPL_COMMANDS_COMMANDS_H
#define PRATTLE_REPL_COMMANDS_COMMANDS_H
/* The commands of the table, each in the file of its family. */
#include "repl/commands/command.h"

struct prompt;

enum { NEXT_SHOWN = 20 }; /* tokens, of :next and logits */

int cmd_load(struct repl *r, const struct call *c);
int cmd_model(struct repl *r, const struct call *c);
int cmd_save(struct repl *r, const struct call *c);
int cmd_convert(struct repl *r, const struct call *c);
int cmd_set(struct repl *r, const struct call *c);
int cmd_reset(struct repl *r, const struct call *c);
int cmd_regen(struct repl *r, const struct call *c);
int cmd_undo(struct repl *r, const struct call *c);
int cmd_continue(struct repl *r, const struct call *c);
int cmd_why(struct repl *r, const struct call *c);
int cmd_next(struct repl *r, const struct call *c);
/* The most likely tokens after p, of logits [V], which may be changed: what :next shows, and logits
 * where a person looks at it. */
int next_show(const struct repl *r, const struct prompt *p, float *logits, int max);
int cmd_tokens(struct repl *r, const struct call *c);
int cmd_logits(struct repl *r, const struct call *c);
int cmd_generate(struct repl *r, const struct call *c);
int cmd_tokenizer(struct repl *r, const struct call *c);
int cmd_cache(struct repl *r, const struct call *c);
int cmd_hub(struct repl *r, const struct call *c);
int cmd_lora(struct repl *r, const struct call *c);
int cmd_plot(struct repl *r, const struct call *c);
int cmd_train(struct repl *r, const struct call *c);
int cmd_session(struct repl *r, const struct call *c);
int cmd_batch(struct repl *r, const struct call *c);
int cmd_eval(struct repl *r, const struct call *c);
int cmd_data(struct repl *r, const struct call *c);
int cmd_bench(struct repl *r, const struct call *c);
int cmd_profile(struct repl *r, const struct call *c);
int cmd_devices(struct repl *r, const struct call *c);
int cmd_history(struct repl *r, const struct call *c);
int cmd_help(struct repl *r, const struct call *c);
int cmd_quit(struct repl *r, const struct call *c);

/* The words of their tables. */
const char *cmd_lora_word(int i);
const char *cmd_plot_word(int i);
const char *cmd_eval_word(int i);
const char *cmd_bench_word(int i);

/* Each evaluation with what it is. */
void cmd_eval_explain(void);
/* The texts that data get takes. */
void cmd_data_explain(void);

#endif
