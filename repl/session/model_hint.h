#ifndef PRATTLE_REPL_SESSION_MODEL_HINT_H
#define PRATTLE_REPL_SESSION_MODEL_HINT_H
/*
 * What to do when a model cannot be loaded because of what was named: GPT-2 by its name alone, or a
 * text. rc, or after ERR_MISSING and ERR_FORMAT with a sentence that says so.
 *
 * prefix   what commands begin with there: ":" at the prompt, "prattle " in the shell
 */
int model_hint(int rc, const char *path, const char *prefix);

#endif
