#ifndef PRATTLE_PLOT_H
#define PRATTLE_PLOT_H
/*
 * Curves: in the terminal as text, in files as SVG or PNG through gnuplot.
 */
#include "model/base/buf.h"

#include <stdbool.h>

struct plot_series {
    const char *name;
    double *x, *y; /* [n], x ascending; values that are not finite are left out */
    int n;
};

/*
 * A picture of at most width columns and height rows, all curves in one frame with
 * their names below, axes in round figures. braille: dots of U+2800, eight a character;
 * else one ASCII sign a curve. ERR_MISSING: no curve has a point.
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
