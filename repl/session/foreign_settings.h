#ifndef PRATTLE_REPL_SESSION_FOREIGN_SETTINGS_H
#define PRATTLE_REPL_SESSION_FOREIGN_SETTINGS_H
/* Settings of other programs that answer prompts (llama.cpp, ollama, OpenAI's API) and are not
 * here under any name, or not the same. Those that are have their names in options_table.c. */

/* What does it here, a sentence without a full stop, of a name, dashes and underscores being the
 * same, "no_" before it or not; NULL: it is not known. */
const char *foreign_setting_named(const char *name);
/* Of an error of a command line, words [n]: where it is of an option as llama.cpp abbreviates it,
 * "-ngl", say what does it here. Returns rc. */
int foreign_setting_explain(int rc, char *const *words, int n);

#endif
