#include "repl/terminal/plot_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double SLACK = 1e-9; /* of a step: what rounding does to it */

/* The least of 1, 2 or 5 times a power of ten that is no less. */
static double round_step(double least)
{
    double power = pow(10, floor(log10(least))), part = least / power;
    return power * (part <= 1 + SLACK ? 1 : part <= 2 + SLACK ? 2 : part <= 5 + SLACK ? 5 : 10);
}

double axis_first(const struct axis *a)
{
    return ceil(a->low / a->step - SLACK);
}

double axis_last(const struct axis *a)
{
    return floor(a->high / a->step + SLACK);
}

static void widen_flat_axis(struct axis *a)
{
    if (a->high - a->low > fabs(a->high) * 1e-9)
        return;
    const double more = a->high == 0 ? 1 : fabs(a->high) * 0.1;
    a->low -= more / 2;
    a->high += more / 2;
}

/* A mark that is less than half a row away comes onto the axis. */
static void widen_to_marks(struct axis *a, double a_row)
{
    const double low = (axis_first(a) - 1) * a->step, high = (axis_last(a) + 1) * a->step;
    a->low = a->low - low < a_row / 2 ? low : a->low;
    a->high = high - a->high < a_row / 2 ? high : a->high;
}

void axis_fit_rows(struct axis *a, int rows)
{
    widen_flat_axis(a);
    const double a_row = (a->high - a->low) / rows;
    a->step = round_step(2 * a_row);
    if (axis_last(a) - axis_first(a) < 1)
        a->step = round_step(a_row);
    widen_to_marks(a, a_row);
}

static int widest_label(const struct axis *a)
{
    char text[NUMBER_TEXT];
    size_t most = 0;
    for (double k = axis_first(a); k <= axis_last(a); k++) {
        size_t n = strlen(axis_label(text, a, k));
        most = n > most ? n : most;
    }
    return (int)most;
}

void axis_fit_columns(struct axis *a, int columns)
{
    enum { APART = 8, BETWEEN = 2, MOST_MARKS = 12 };
    const double nearly_zero = 0.05;
    const int least = columns / MOST_MARKS > APART ? columns / MOST_MARKS : APART;
    if (a->low == a->high)
        a->high += 1;
    if (a->low > 0 && a->low <= nearly_zero * (a->high - a->low))
        a->low = 0;
    const double a_column = (a->high - a->low) / columns;
    a->step = round_step(a_column * least);
    a->step = a->counts ? fmax(a->step, 1) : a->step;
    while (widest_label(a) + BETWEEN > a->step / a_column && axis_last(a) > axis_first(a))
        a->step = round_step(a->step * 1.5);
}

const char *axis_label(char out[NUMBER_TEXT], const struct axis *a, double k)
{
    const double x = k == 0 ? 0 : k * a->step, most = fmax(fabs(a->low), fabs(a->high));
    const int decimals = a->step < 1 ? (int)ceil(-log10(a->step) - SLACK) : 0;
    if (most >= 1e5 && a->counts)
        snprintf(out, NUMBER_TEXT, "%.6g%s",
                 x / (x >= 1e9   ? 1e9
                      : x >= 1e6 ? 1e6
                      : x >= 1e3 ? 1e3
                                 : 1),
                 x >= 1e9   ? "B"
                 : x >= 1e6 ? "M"
                 : x >= 1e3 ? "K"
                            : "");
    else if (most >= 1e6 || most < 1e-3)
        return number_text(out, x, 6);
    else
        snprintf(out, NUMBER_TEXT, "%.*f", decimals, x);
    return out;
}

double axis_place(const struct axis *a, double x, int n)
{
    return (x - a->low) / (a->high - a->low) * (n - 1);
}
