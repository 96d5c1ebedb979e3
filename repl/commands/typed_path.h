#ifndef PRATTLE_REPL_COMMANDS_TYPED_PATH_H
#define PRATTLE_REPL_COMMANDS_TYPED_PATH_H
/*
 * A path among a command's words that was mistyped: one with spaces and without quotes, which has
 * become several words, or one that is near another.
 */

/* Returns rc, with what was meant in the sentence where that is plain. */
int typed_path_explain(int rc, char *const *words, int n);
/* The same of an error of the options, for a file whose name begins as an option does. */
int typed_path_explain_option(int rc, char *const *words, int n);

#endif
