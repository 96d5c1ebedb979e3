#ifndef PRATTLE_REPL_COMMANDS_HELP_TEXT_H
#define PRATTLE_REPL_COMMANDS_HELP_TEXT_H
/* What the pages of help share: names as they are typed, the columns of a screen, tables. */
#include "repl/commands/command.h"
#include "repl/settings/options.h"
#include "repl/terminal/table.h"

#include <stddef.h>

/* A setting's name, or where it is a command's option alone, "--vocab-size". */
void help_option_name(char *out, size_t n, const struct setting *o);
/* What stands behind the name of an option that takes something: "N", or the first n choices,
 * "text|markdown". */
int help_option_takes(struct buf *out, const struct setting *o, int n);
/* What goes before a command's name: "prattle " in the shell where it works there, else ":". */
const char *help_prefix(const struct command *c, bool shell);
/* The column of a text about a name: a narrow terminal has it below the name. */
int help_text_column(int wide);
/* A name and what is said of it, from that column on. */
void help_pair(const char *name, const char *text, int wide);
/* A last remark, dim, broken as help is. */
void help_note(const char *text);
/* Print the table if rc, of filling it, is 0, and release it. Returns rc, or ERR_NOMEM. */
int help_table(struct table *t, int rc, enum table_format format);

#endif
