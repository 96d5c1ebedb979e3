#ifndef PRATTLE_REPL_TERMINAL_PLOT_AXIS_H
#define PRATTLE_REPL_TERMINAL_PLOT_AXIS_H
/*
 * An axis of a picture in characters: from where to where it goes, and at which round figures it
 * has marks.
 */
#include "repl/terminal/number.h"

#include <stdbool.h>

struct axis {
    double low, high; /* low < high */
    double step;      /* marks stand at its multiples; 1, 2 or 5 times a power of ten */
    bool counts;      /* of tokens, say: their large numbers are 500K and 2M */
};

/* Upward over `rows`: low..high, and less than half a row more for a mark's sake. */
void axis_fit_rows(struct axis *a, int rows);
/* To the right over `columns`, with room for the marks' numbers. */
void axis_fit_columns(struct axis *a, int columns);

/* The first mark is number axis_first; mark k is at k * step. */
double axis_first(const struct axis *a);
double axis_last(const struct axis *a);
/* The number of mark k, all of an axis with as many decimals; out. */
const char *axis_label(char out[NUMBER_TEXT], const struct axis *a, double k);
/* Where x is on an axis of n places, 0..n-1 from low to high. */
double axis_place(const struct axis *a, double x, int n);

#endif
