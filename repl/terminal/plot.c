/*
 * A curve is drawn into a field of dots, row 0 at the top, and the field printed by characters of
 * DOTS_X by DOTS_Y of them in braille, of one in ASCII. Dots know their curve, from 1: where two
 * meet, the later one is seen.
 */
#include "repl/terminal/plot.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "repl/terminal/plot_axis.h"
#include "repl/terminal/term.h"

#include <math.h>
#include <string.h>

enum { DOTS_X = 2, DOTS_Y = 4, MAX_SERIES = 8, MIN_WIDTH = 30, MIN_HEIGHT = 2, SHORT_NAME = 6 };

static const char PLAIN[] = "\033[0m", GAP[] = "   ";

struct field {
    unsigned char *dot;  /* [height][width]: which curve has one there, from 1 */
    unsigned char *sign; /* [rows][columns]: the curve whose sign stands there */
    int *row_of;         /* [columns]: of the curve that was drawn last; -1: it is not there */
    int width, height, columns, rows, dots_x, dots_y;
};

/* All frames have this in common. */
struct picture {
    const char *x_name;
    struct axis x;
    int width, rows, gutter; /* the gutter is left of the y axis, for its numbers */
    bool utf8;
};

static int init_field(struct field *d, const struct picture *p)
{
    *d = (struct field){.columns = p->width - p->gutter - 2,
                        .rows = p->rows,
                        .dots_x = p->utf8 ? DOTS_X : 1,
                        .dots_y = p->utf8 ? DOTS_Y : 1};
    d->width = d->columns * d->dots_x;
    d->height = d->rows * d->dots_y;
    d->dot = mem_array((size_t)d->width * (size_t)d->height, 1);
    d->sign = mem_array((size_t)d->columns * (size_t)d->rows, 1);
    d->row_of = mem_array((size_t)d->columns, sizeof *d->row_of);
    return d->dot == NULL || d->sign == NULL || d->row_of == NULL ? ERR_NOMEM : 0;
}

static void release_field(struct field *d)
{
    mem_free(d->dot);
    mem_free(d->sign);
    mem_free(d->row_of);
}

static void draw_line(struct field *d, double xa, double ya, double xb, double yb, int series)
{
    int n = (int)fmax(fabs(xb - xa), fabs(yb - ya)) + 1;
    for (int i = 0; i <= n; i++) {
        int x = (int)lround(xa + (xb - xa) * i / n), y = (int)lround(ya + (yb - ya) * i / n);
        if (x >= 0 && x < d->width && y >= 0 && y < d->height) {
            d->dot[y * d->width + x] = (unsigned char)(series + 1);
            d->row_of[x / d->dots_x] = y / d->dots_y;
        }
    }
}

/* Returns how many points it has. */
static int draw_series(struct field *d, const struct picture *p, const struct axis *y_axis,
                       const struct plot_series *s, int k)
{
    double xa = 0, ya = 0;
    int n = 0;
    for (int i = 0; i < d->columns; i++)
        d->row_of[i] = -1;
    for (int i = 0; i < s->n; i++) {
        if (!plot_is_point(s, i))
            continue;
        double x = axis_place(&p->x, s->x[i], d->width);
        double y = d->height - 1 - axis_place(y_axis, s->y[i], d->height);
        draw_line(d, n > 0 ? xa : x, n > 0 ? ya : y, x, y, k);
        xa = x;
        ya = y;
        n++;
    }
    return n;
}

static void put_sign(struct field *d, int column, int k)
{
    if (d->row_of[column] >= 0)
        d->sign[d->row_of[column] * d->columns + column] = (unsigned char)(k + 1);
}

/* The sign of curve k of n at each point where these are few, else here and there, where those of
 * the others are not. */
static void put_signs(struct field *d, const struct picture *p, const struct plot_series *s, int k,
                      int n, int n_points)
{
    enum { APART = 6 };
    if (n_points * APART <= d->columns) {
        for (int i = 0; i < s->n; i++)
            if (plot_is_point(s, i))
                put_sign(d, (int)lround(axis_place(&p->x, s->x[i], d->width)) / d->dots_x, k);
        return;
    }
    for (int column = APART / 2 + k * APART; column < d->columns; column += n * APART)
        put_sign(d, column, k);
}

/* ---- rows ---- */

static const char ascii_signs[MAX_SERIES + 1] = "*+ox#@%&";

static int add_sign(struct buf *out, int k, bool utf8)
{
    static const char *const signs[MAX_SERIES] = {"●", "▲", "■", "◆", "○", "△", "□", "◇"};
    return utf8 ? buf_str(out, signs[k]) : buf_char(out, ascii_signs[k]);
}

/* The character of one cell: its dots in the order of U+2800's bits. */
static int add_braille(struct buf *out, const struct field *d, int column, int row)
{
    static const unsigned char bit[DOTS_Y][DOTS_X] = {{0, 3}, {1, 4}, {2, 5}, {6, 7}};
    unsigned mask = 0;
    for (int y = 0; y < DOTS_Y; y++)
        for (int x = 0; x < DOTS_X; x++)
            if (d->dot[(row * DOTS_Y + y) * d->width + column * DOTS_X + x] != 0)
                mask |= 1u << bit[y][x];
    char utf8[3] = {(char)0xe2, (char)(0xa0 | mask >> 6), (char)(0x80 | (mask & 0x3f))};
    return buf_add(out, utf8, sizeof utf8);
}

/* The curve whose sign, or else whose last dot, a cell has; 0: none. */
static int cell_curve(const struct field *d, int column, int row)
{
    int curve = d->sign[row * d->columns + column];
    for (int y = 0; y < d->dots_y && d->sign[row * d->columns + column] == 0; y++)
        for (int x = 0; x < d->dots_x; x++) {
            int dot = d->dot[(row * d->dots_y + y) * d->width + column * d->dots_x + x];
            curve = dot > curve ? dot : curve;
        }
    return curve;
}

/* Up to the last cell that has something. */
static int add_cells(struct buf *out, const struct field *d, int row,
                     const struct plot_series *series, bool utf8)
{
    int rc = 0, was = 0, n = d->columns;
    while (n > 0 && cell_curve(d, n - 1, row) == 0)
        n--;
    for (int c = 0; c < n && rc == 0; c++) {
        const int curve = cell_curve(d, c, row);
        if (curve != 0 && curve != was && series[curve - 1].color != NULL)
            rc = buf_str(out, series[curve - 1].color);
        was = curve != 0 ? curve : was;
        if (rc != 0)
            break;
        if (curve == 0)
            rc = buf_char(out, ' ');
        else if (!utf8 || d->sign[row * d->columns + c] != 0)
            rc = add_sign(out, curve - 1, utf8);
        else
            rc = add_braille(out, d, c, row);
    }
    return rc == 0 && was != 0 && series[was - 1].color != NULL ? buf_str(out, PLAIN) : rc;
}

/* The mark of a row is where a curve of that value goes. */
static int add_row(struct buf *out, const struct picture *p, const struct axis *y,
                   const struct field *d, int row, const struct plot_series *series)
{
    char label[NUMBER_TEXT] = "";
    for (double k = axis_first(y); k <= axis_last(y) && *label == '\0'; k++) {
        const int dot = (int)lround(axis_place(y, k * y->step, d->height));
        if ((d->height - 1 - dot) / d->dots_y == row)
            axis_label(label, y, k);
    }
    const bool marked = *label != '\0';
    int rc = buf_printf(out, "%*s %s", p->gutter, label,
                        p->utf8  ? (marked ? "┤" : "│")
                        : marked ? "+"
                                 : "|");
    if (rc == 0)
        rc = add_cells(out, d, row, series, p->utf8);
    return rc == 0 ? buf_char(out, '\n') : rc;
}

/* The names of a frame's curves, each with its sign and its last value. */
static int add_title(struct buf *out, const struct picture *p, const struct plot_series *series,
                     int n_series)
{
    const int indent = p->gutter + 2;
    int rc = buf_printf(out, "%*s", indent, ""), at = indent;
    for (int s = 0; s < n_series && rc == 0; s++) {
        struct buf plain = {0};
        char number[NUMBER_TEXT];
        const char *color = series[s].color != NULL ? series[s].color : "";
        double last = NAN;
        for (int i = 0; i < series[s].n; i++)
            last = plot_is_point(&series[s], i) ? series[s].y[i] : last;
        if (n_series > 1 && (rc = add_sign(&plain, s, p->utf8)) == 0)
            rc = buf_char(&plain, ' ');
        if (rc == 0)
            rc = term_visible(&plain, series[s].name, strlen(series[s].name));
        const char *value = number_text(number, last, 5);
        const int columns = term_columns(buf_text(&plain), plain.n) + 1 + (int)strlen(value);
        const bool breaks = at > indent && at + (int)strlen(GAP) + columns > p->width;
        if (rc == 0 && at > indent)
            rc = breaks ? buf_printf(out, "\n%*s", indent, "") : buf_str(out, GAP);
        at = breaks ? indent + columns : at + columns + (at > indent ? (int)strlen(GAP) : 0);
        if (rc == 0)
            rc = buf_printf(out, "%s%s%s %s", color, buf_text(&plain), *color == '\0' ? "" : PLAIN,
                            value);
        buf_release(&plain);
    }
    return rc == 0 ? buf_char(out, '\n') : rc;
}

/* ---- the x axis ---- */

static int mark_column(const struct picture *p, double k)
{
    const int columns = p->width - p->gutter - 2, dots_x = p->utf8 ? DOTS_X : 1;
    return (int)lround(axis_place(&p->x, k * p->x.step, columns * dots_x)) / dots_x;
}

static int add_x_line(struct buf *out, const struct picture *p)
{
    int rc = buf_printf(out, "%*s %s", p->gutter, "", p->utf8 ? "└" : "+"), at = 0;
    for (double k = axis_first(&p->x); k <= axis_last(&p->x) && rc == 0; k++) {
        const int column = mark_column(p, k);
        for (; at < column && rc == 0; at++)
            rc = buf_str(out, p->utf8 ? "─" : "-");
        if (rc == 0 && at == column)
            rc = buf_str(out, p->utf8 ? "┬" : "+");
        at = column + 1;
    }
    for (; at < p->width - p->gutter - 2 && rc == 0; at++)
        rc = buf_str(out, p->utf8 ? "─" : "-");
    return rc == 0 ? buf_char(out, '\n') : rc;
}

/* Numbers below the marks, and the axis's name before them, or in a row of its own. */
static int add_x_labels(struct buf *out, const struct picture *p)
{
    const bool fits = (int)strlen(p->x_name) <= p->gutter;
    int rc = buf_printf(out, "%*s", p->gutter, fits ? p->x_name : ""), at = p->gutter;
    for (double k = axis_first(&p->x); k <= axis_last(&p->x) && rc == 0; k++) {
        char label[NUMBER_TEXT];
        const int n = (int)strlen(axis_label(label, &p->x, k));
        int from = p->gutter + 2 + mark_column(p, k) - (n - 1) / 2;
        from = from <= p->gutter ? p->gutter + 1 : from;
        from = from + n > p->width ? p->width - n : from;
        if (from <= at)
            continue;
        rc = buf_printf(out, "%*s%s", from - at, "", label);
        at = from + n;
    }
    if (rc == 0)
        rc = buf_char(out, '\n');
    return rc == 0 && !fits ? buf_printf(out, "%*s\n", p->width, p->x_name) : rc;
}

/* ---- frames ---- */

static void fit_y_axis(struct axis *y, const struct plot_series *series, int n_series, int rows)
{
    const struct plot_span span = plot_span_y(series, n_series);
    *y = (struct axis){.low = span.low, .high = span.high};
    axis_fit_rows(y, rows);
}

static int draw_frame(struct buf *out, const struct picture *p, const struct plot_series *series,
                      int n_series)
{
    struct axis y;
    struct field d;
    fit_y_axis(&y, series, n_series, p->rows);
    int rc = init_field(&d, p);
    if (rc == 0)
        rc = add_title(out, p, series, n_series);
    for (int s = 0; s < n_series && rc == 0; s++) {
        const int n_points = draw_series(&d, p, &y, &series[s], s);
        if (n_series > 1 && p->utf8)
            put_signs(&d, p, &series[s], s, n_series, n_points);
    }
    for (int row = 0; row < p->rows && rc == 0; row++)
        rc = add_row(out, p, &y, &d, row, series);
    release_field(&d);
    return rc;
}

static int frame_gutter(const struct plot_series *series, int n_series, int rows)
{
    struct axis y;
    size_t most = 0;
    fit_y_axis(&y, series, n_series, rows);
    for (double k = axis_first(&y); k <= axis_last(&y); k++) {
        char label[NUMBER_TEXT];
        const size_t n = strlen(axis_label(label, &y, k));
        most = n > most ? n : most;
    }
    return (int)most;
}

static bool is_count(const char *name)
{
    return strcmp(name, "step") == 0 || strcmp(name, "tokens") == 0;
}

int plot_draw(struct buf *out, const struct plot_series *series, int n_series, const char *x_name,
              int width, int height, bool utf8)
{
    struct picture p = {.x_name = x_name,
                        .width = width < MIN_WIDTH ? MIN_WIDTH : width,
                        .rows = height < MIN_HEIGHT ? MIN_HEIGHT : height,
                        .utf8 = utf8};
    if (n_series > MAX_SERIES)
        return err_set(ERR_RANGE, "%d curves in one picture, at most %d", n_series, MAX_SERIES);
    int rc = plot_check(series, n_series);
    if (rc != 0)
        return rc;
    const struct plot_span x = plot_span_x(series, n_series);
    p.gutter = strlen(x_name) <= SHORT_NAME ? (int)strlen(x_name) : 0;
    for (int at = 0, n; at < n_series; at += n) {
        n = plot_frame_series(series + at, n_series - at);
        if (plot_check(series + at, n) == 0)
            p.gutter = (int)fmax(p.gutter, frame_gutter(series + at, n, p.rows));
    }
    p.x = (struct axis){.low = x.low, .high = x.high, .counts = is_count(x_name)};
    axis_fit_columns(&p.x, p.width - p.gutter - 2);
    for (int at = 0, n; at < n_series && rc == 0; at += n) {
        n = plot_frame_series(series + at, n_series - at);
        if (plot_check(series + at, n) == 0)
            rc = draw_frame(out, &p, series + at, n);
    }
    if (rc == 0)
        rc = add_x_line(out, &p);
    return rc == 0 ? add_x_labels(out, &p) : rc;
}

/* No flatter than it is legible, no higher than a fifth of its width. */
int plot_frame_rows(int n_frames, int width, int height)
{
    enum {
        LEAST = 4,
        LOW = 8,
        FIFTH = 5,
        AROUND = 4
    }; /* a line typed, two of the axis, a prompt */
    const int each = (height - AROUND) / (n_frames > 0 ? n_frames : 1) - 1,
              most = width / FIFTH > LOW ? width / FIFTH : LOW;
    return each < LEAST ? LEAST : each > most ? most : each;
}
