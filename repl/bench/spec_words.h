#ifndef PRATTLE_REPL_BENCH_SPEC_WORDS_H
#define PRATTLE_REPL_BENCH_SPEC_WORDS_H
/*
 * The command of a benchmark.
 *
 * A file comes from anywhere, so cmd is never given to a shell: its words (quotes keep spaces, a
 * value stays one word) are arguments of this very program, whose name stands first. It may be
 * bench, devices, eval, generate, model, tokens or train; options that write files are refused, a
 * run of train has a folder of its own, which is deleted, and nothing is downloaded. {model} is
 * the source of the model in memory, else the model of the settings.
 */
#include "model/base/json.h"

enum { SPEC_WORDS = 64 };

/* The words of a command with the values of a variant: argv [n + 1], "prattle" first, NULL last, to
 * be freed by spec_free_words. ERR_UNSUPPORTED: no command that a specification may run. */
int spec_words(char ***argv, const char *command, const json_t *variant, const char *model);
void spec_free_words(char **argv);

#endif
