#include "repl/terminal/plot_series.h"

#include "model/base/err.h"

#include <float.h>
#include <math.h>

bool plot_is_point(const struct plot_series *s, int i)
{
    return isfinite(s->x[i]) && isfinite(s->y[i]);
}

int plot_frame_series(const struct plot_series *series, int n_series)
{
    int n = 0;
    while (n < n_series && series[n].frame == series[0].frame)
        n++;
    return n;
}

static struct plot_span span_points(const struct plot_series *series, int n_series, bool of_y)
{
    struct plot_span span = {.low = DBL_MAX, .high = -DBL_MAX};
    for (int s = 0; s < n_series; s++)
        for (int i = 0; i < series[s].n; i++) {
            const double v = of_y ? series[s].y[i] : series[s].x[i];
            if (!plot_is_point(&series[s], i))
                continue;
            span.low = fmin(span.low, v);
            span.high = fmax(span.high, v);
        }
    return span;
}

struct plot_span plot_span_x(const struct plot_series *series, int n_series)
{
    return span_points(series, n_series, false);
}

struct plot_span plot_span_y(const struct plot_series *series, int n_series)
{
    return span_points(series, n_series, true);
}

int plot_check(const struct plot_series *series, int n_series)
{
    const struct plot_span span = plot_span_x(series, n_series);
    return span.low > span.high ? err_set(ERR_MISSING, "there is nothing to plot yet") : 0;
}
