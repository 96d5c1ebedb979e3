#ifndef PRATTLE_REPL_TERMINAL_PLOT_H
#define PRATTLE_REPL_TERMINAL_PLOT_H
/*
 * Curves: in the terminal as text, in files as SVG or PNG through gnuplot.
 */
#include "model/base/buf.h"
#include "repl/terminal/plot_series.h"

#include <stdbool.h>

/*
 * A picture of at most width columns: frames of so many rows below each other, each under the names
 * and last values of its curves, over one x axis, which takes two rows more. Both axes have marks
 * at round figures. utf8: lines of braille dots, eight a character, each with a sign of its own now
 * and then where there are several; else an ASCII sign a curve. A frame without a point is left
 * out. ERR_MISSING: no curve has a point.
 */
int plot_draw(struct buf *out, const struct plot_series *series, int n_series, const char *x_name,
              int width, int height, bool utf8);
/* The rows that frames have on a terminal of so many columns and rows, a prompt below them. */
int plot_frame_rows(int n_frames, int width, int height);
/*
 * The same into path, which ends in .svg or .png. ERR_UNSUPPORTED: another ending;
 * ERR_MISSING: gnuplot is not there (the sentence says how to get it).
 */
int plot_write(const char *path, bool force, const struct plot_series *series, int n_series,
               const char *x_name);
/* Before there are curves: ERR_UNSUPPORTED as there, or such a file cannot be. */
int plot_write_check(const char *path, bool force);

#endif
