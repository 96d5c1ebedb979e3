#ifndef PRATTLE_REPL_TERMINAL_SPARKLINE_H
#define PRATTLE_REPL_TERMINAL_SPARKLINE_H
/*
 * A curve in a row of text: "8.31 ▇▆▅▄▃▃▂▂▁▁ 6.15". As many values as there will be, in fixed
 * memory: neighbours become their mean.
 */
#include "model/base/buf.h"

#include <stdbool.h>

enum { SPARKLINE_MEANS = 64 };

/* {0} is empty. */
struct sparkline {
    double mean[SPARKLINE_MEANS], first, last, sum;
    int n;            /* means that are whole */
    int each, so_far; /* values that a mean is of, and that the next one has */
};

/* A value that is not finite is left out. */
void sparkline_add(struct sparkline *s, double value);
/* Append the first value, the curve between the least and the greatest mean, and the last value, in
 * at most `columns`; nothing of less than three values. utf8: in eighths of a row, else in four
 * steps of ASCII. */
int sparkline_draw(struct buf *out, const struct sparkline *s, int columns, bool utf8);

#endif
