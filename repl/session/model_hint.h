#ifndef PRATTLE_REPL_SESSION_MODEL_HINT_H
#define PRATTLE_REPL_SESSION_MODEL_HINT_H
/*
 * Add advice to the error rc of loading path, if the user has named GPT-2 by its name alone, a
 * text, a folder of texts or of runs, or a file of another program. Returns the code of the error,
 * rc unless advice was added.
 *
 * prefix   how commands begin: ":" at the prompt, "prattle " in the shell
 */
int model_hint(int rc, const char *path, const char *prefix);

#endif
