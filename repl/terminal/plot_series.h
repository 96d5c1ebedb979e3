#ifndef PRATTLE_REPL_TERMINAL_PLOT_SERIES_H
#define PRATTLE_REPL_TERMINAL_PLOT_SERIES_H

#include <stdbool.h>

struct plot_series {
    const char *name;
    const char *y_name; /* of its y axis, which a picture in a file has; NULL: none */
    double *x, *y;      /* [n], x ascending; values that are not finite are left out */
    int n;
    int frame;         /* curves of one frame have their y axis in common; 0, then 1 and so on */
    const char *color; /* what a terminal takes for it; NULL: none */
};

bool plot_is_point(const struct plot_series *s, int i);
/* How many of the first series have the frame of the first. */
int plot_frame_series(const struct plot_series *series, int n_series);
/* The span of all points, high below low where there is none. */
struct plot_span {
    double low, high;
};
struct plot_span plot_span_x(const struct plot_series *series, int n_series);
struct plot_span plot_span_y(const struct plot_series *series, int n_series);
/* ERR_MISSING: no curve has a point. */
int plot_check(const struct plot_series *series, int n_series);

#endif
