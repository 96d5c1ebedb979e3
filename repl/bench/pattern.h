#ifndef PRATTLE_REPL_BENCH_PATTERN_H
#define PRATTLE_REPL_BENCH_PATTERN_H
/*
 * What a specification reads from a program's output: the numbers that a regular expression finds.
 *
 * Expressions are POSIX extended ones, in which the usual forms of Python's are taken too: \d, and
 * a lazy .*? or .+? before a character, up to which it goes. The number is what the one group
 * finds, or, without a group, the whole. Backreferences, other lazy repetitions and (?...) are
 * refused, and so are counts above PATTERN_COUNT: they take time and memory without bound.
 */
#include "model/base/buf.h"

#include <regex.h>

enum { PATTERN_BYTES = 256, PATTERN_COUNT = 100, PATTERN_COUNTS = 2, PATTERN_FOUND = 1000000 };

struct pattern {
    regex_t regex;
    bool compiled;
};
/* ERR_FORMAT. */
int pattern_compile(struct pattern *p, const char *text);
void pattern_release(struct pattern *p);

struct numbers {
    double *list; /* [n], owned */
    size_t n, cap;
};
/* Append all numbers in n bytes of text, line by line. Spaces, thousands' commas and a comma or
 * point at the end are left out of a number. ERR_FORMAT: what was found is no finite number. */
int pattern_find(const struct pattern *p, struct numbers *out, const char *text, size_t n);
int numbers_add(struct numbers *out, double x);
void numbers_release(struct numbers *out);

#endif
