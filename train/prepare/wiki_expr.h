#ifndef PRATTLE_TRAIN_PREPARE_WIKI_EXPR_H
#define PRATTLE_TRAIN_PREPARE_WIKI_EXPR_H
/*
 * MediaWiki's {{#expr:}}: + - * / ^ mod div round, abs, ceil, floor, trunc, and parentheses.
 */
#include <stdbool.h>

/* The value of text; false: it is no such expression, or has no value. */
bool wiki_expr(double *value, const char *text);
/* A value rounded to this many decimals; negative: to tens, hundreds. */
double wiki_round(double value, int decimals);

#endif
