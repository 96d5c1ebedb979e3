#ifndef PRATTLE_REPL_BENCH_EXPRESSION_H
#define PRATTLE_REPL_BENCH_EXPRESSION_H
#include <stddef.h>

/*
 * The value of an expression of numbers, {name}, + - * / and parentheses, as 8 * {throughput}.
 * `value` gives that of a name (n bytes of text), or an error. ERR_FORMAT: it is no such
 * expression; ERR_RANGE: the result is no finite number.
 */
struct expression_names {
    int (*value)(void *user, const char *name, size_t n, double *out);
    void *user;
};
int expression_value(double *out, const char *text, const struct expression_names *names);

#endif
