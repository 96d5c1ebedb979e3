#ifndef PRATTLE_REPL_COMMANDS_BENCH_SPEC_H
#define PRATTLE_REPL_COMMANDS_BENCH_SPEC_H
/* :bench SPEC.yaml [NAME ...] and :bench history */
#include "repl/commands/commands.h"

/* Whether a word names a specification, by its ending. */
bool bench_is_spec(const char *word);
/* c: the specification, names of its benchmarks (none: all), repeats=N, and a FILE.svg or .png. */
int bench_use_spec(struct repl *r, const struct call *c);
/* c: "history", and none or two sides (results.h), or "clear". */
int bench_use_history(struct repl *r, const struct call *c);

#endif
