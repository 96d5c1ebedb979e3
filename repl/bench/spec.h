#ifndef PRATTLE_REPL_BENCH_SPEC_H
#define PRATTLE_REPL_BENCH_SPEC_H
/*
 * Benchmarks by name, in the format of Graphcore's examples (benchmarks.yml): a mapping of names to
 *
 *   description  text
 *   cmd          the command, which is one of prattle's own (spec_words.h)
 *   parameters   NAME: [1, 2] or NAME: 1,2 for all combinations, or a list of rows under a row of
 *                names; {NAME} in cmd stands for the value
 *   data         FIGURE: {regexp, skip, reduction_type}: the numbers that regexp (pattern.h) finds
 *                in what the command prints, without the first `skip` of them, as their mean
 *                (unless said), final, min, max, median, or value (the first)
 *   derived      FIGURE: {expr}: an expression (expression.h) of figures and parameters
 *   output       [[unit, figure], ...]: which figures are shown, all if it is missing, and in what
 *   repeats      how often each is run, 5 if it is missing; warmup: runs before that, which count
 *                for nothing
 *   plot         the parameter along whose values the first figure is drawn
 *
 * An entry without cmd is no benchmark: others take its keys by an alias, as there.
 */
#include "model/base/json.h"
#include "repl/bench/pattern.h"

enum { SPEC_FIGURES = 32, SPEC_REPEATS = 1000 };
enum spec_reduction {
    REDUCE_MEAN,
    REDUCE_FINAL,
    REDUCE_MIN,
    REDUCE_MAX,
    REDUCE_MEDIAN,
    REDUCE_VALUE
};

struct spec_figure {
    const char *name, *unit; /* unit "": it is not shown, or has none */
    const char *expression;  /* NULL: read by the pattern */
    struct pattern pattern;
    int skip;
    enum spec_reduction reduction;
    bool shown;
};

/* Texts are borrowed from the tree of the specification. */
struct spec_entry {
    const char *name, *description, *command;
    const char *plot; /* NULL: nothing is drawn */
    int repeats, warmup;
    struct spec_figure figures[SPEC_FIGURES];
    int n_figures;
    json_t *variants; /* a list of objects, at least one: parameter to text */
};

struct spec {
    json_t *tree;
    struct spec_entry *entries; /* [n], owned */
    int n;
};
/* Read a specification, and check all of it that can be checked without running. Errors begin with
 * label, and where it is one entry's fault with its name. */
int spec_read(struct spec *s, const char *label, const char *text, size_t n);
void spec_release(struct spec *s);
/* NULL: there is none. */
const struct spec_entry *spec_find(const struct spec *s, const char *name);

/* The figures that a command's output has, values [n_figures] of e. */
int spec_figures(double *values, const struct spec_entry *e, const json_t *variant,
                 const char *text, size_t n);

#endif
