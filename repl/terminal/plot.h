#ifndef PRATTLE_REPL_TERMINAL_PLOT_H
#define PRATTLE_REPL_TERMINAL_PLOT_H
/*
 * Curves: in the terminal as text, in files as SVG or PNG through gnuplot.
 */
#include "model/base/buf.h"

#include <stdbool.h>

struct plot_series {
    const char *name;
    double *x, *y; /* [n], x ascending; values that are not finite are left out */
    int n;
    int frame;         /* curves of one frame have their axes in common; 0, then 1 and so on */
    const char *color; /* what a terminal takes for it; NULL: none */
};

/*
 * A picture of at most width columns, frame under frame, each of so many rows with the names of
 * its curves below, axes in round figures. braille: dots of U+2800, eight a character, where
 * colours tell the curves of a frame apart or there is one; else an ASCII sign a curve.
 * ERR_MISSING: no curve has a point.
 */
int plot_draw(struct buf *out, const struct plot_series *series, int n_series, const char *x_name,
              int width, int height, bool braille);
/*
 * The same into path, which ends in .svg or .png. ERR_UNSUPPORTED: another ending;
 * ERR_MISSING: gnuplot is not there (the sentence says how to get it).
 */
int plot_write(const char *path, bool force, const struct plot_series *series, int n_series,
               const char *x_name);

#endif
