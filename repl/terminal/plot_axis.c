#include "repl/terminal/plot_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double SLACK = 1e-9; /* of a step: what rounding does to it */
/* Of an axis: steps of a shorter one could be 0, whose multiples never end. */
static const double SHORTEST = 1e-290;

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
    if (a->high - a->low <= fabs(a->high) * 1e-9) {
        const double more = a->high == 0 ? 1 : fabs(a->high) * 0.1;
        a->low -= more / 2;
        a->high += more / 2;
    }
    a->high = fmax(a->high, a->low + SHORTEST);
}

/* A mark that is less than half a row away comes onto the axis. */
static void widen_to_marks(struct axis *a, double a_row)
{
    const double low = (axis_first(a) - 1) * a->step, high = (axis_last(a) + 1) * a->step;
    a->low = a->low - low < a_row / 2 ? low : a->low;
    a->high = high - a->high < a_row / 2 ? high : a->high;
}

/* Marks are two rows apart, unless less than two were on the axis then, or three with those that
 * come onto it. */
void axis_fit_rows(struct axis *a, int rows)
{
    widen_flat_axis(a);
    const struct axis bare = *a;
    const double a_row = (a->high - a->low) / rows;
    a->step = round_step(2 * a_row);
    const bool two = axis_last(a) - axis_first(a) >= 1;
    widen_to_marks(a, a_row);
    if (two || axis_last(a) - axis_first(a) >= 2)
        return;
    *a = bare;
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
    enum { APART = 8, MOST_MARKS = 12 };
    const double nearly_zero = 0.05;
    const int least = columns / MOST_MARKS > APART ? columns / MOST_MARKS : APART;
    /* What differs less cannot be counted in steps. */
    a->high = fmax(a->high, a->low + fmax(a->low == a->high, fabs(a->low) * 1e-9));
    a->high = fmax(a->high, a->low + SHORTEST);
    if (a->low > 0 && a->low <= nearly_zero * (a->high - a->low))
        a->low = 0;
    const double a_column = (a->high - a->low) / columns;
    a->step = round_step(a_column * least);
    a->step = a->counts ? fmax(a->step, 1) : a->step;
    /* The numbers of marks at the edges are moved inwards, each by half of its columns. */
    while (2 * widest_label(a) > a->step / a_column && axis_last(a) > axis_first(a))
        a->step = round_step(a->step * 1.5);
}

/* 500K, 1.5M */
static const char *count_label(char out[NUMBER_TEXT], double x)
{
    const double unit = x >= 1e9 ? 1e9 : x >= 1e6 ? 1e6 : x >= 1e3 ? 1e3 : 1;
    snprintf(out, NUMBER_TEXT, "%.6g%s", x / unit,
             unit == 1e9   ? "B"
             : unit == 1e6 ? "M"
             : unit == 1e3 ? "K"
                           : "");
    return out;
}

/* 8e-4, 1e-3, 1.2e-3: digits down to those of a step. */
static const char *power_label(char out[NUMBER_TEXT], const struct axis *a, double x)
{
    const double digits = floor(log10(fabs(x)) + SLACK) - floor(log10(a->step) + SLACK);
    return number_power(out, x, digits > 0 ? (int)digits + 1 : 1);
}

const char *axis_label(char out[NUMBER_TEXT], const struct axis *a, double k)
{
    const double x = k == 0 ? 0 : k * a->step, most = fmax(fabs(a->low), fabs(a->high));
    const int decimals = a->step < 1 ? (int)ceil(-log10(a->step) - SLACK) : 0;
    if (most >= 1e5 && a->counts)
        return count_label(out, x);
    const bool large = most >= 1e6, small = most < 0.01 && a->step < 1e-3;
    if (k != 0 && (large || small))
        return power_label(out, a, x);
    snprintf(out, NUMBER_TEXT, "%.*f", large || small ? 0 : decimals, x);
    return out;
}

double axis_place(const struct axis *a, double x, int n)
{
    return (x - a->low) / (a->high - a->low) * (n - 1);
}
