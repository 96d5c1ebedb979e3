#ifndef PRATTLE_REPL_BENCH_SPEC_TEXTS_H
#define PRATTLE_REPL_BENCH_SPEC_TEXTS_H
/* The specifications of repl/bench/specs, of which the Makefile makes spec_texts.c. */

struct spec_text {
    const char *name, *text; /* name: of its file; NULL: the last */
};
extern const struct spec_text spec_texts[];

#endif
