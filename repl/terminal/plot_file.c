/* A picture in a file, by gnuplot: data inline, so nothing but its standard input is read, and
 * nothing but its standard output written. */
#include "repl/terminal/plot.h"

#include "model/base/child.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "repl/terminal/term.h"

#include <math.h>
#include <string.h>

enum { FEW_POINTS = 40 };

/* A gnuplot string: single quotes, doubled inside. */
static int add_quoted(struct buf *b, const char *s)
{
    struct buf safe = {0};
    int rc = term_visible(&safe, s, strlen(s));
    if (rc == 0)
        rc = buf_char(b, '\'');
    for (const char *p = buf_text(&safe); *p != '\0' && rc == 0; p++)
        rc = *p == '\'' ? buf_str(b, "''") : buf_char(b, *p == '\n' ? ' ' : *p);
    buf_release(&safe);
    return rc == 0 ? buf_char(b, '\'') : rc;
}

/* 'NAME' as it is: an underscore of a name makes nothing small. */
static int add_axis_name(struct buf *b, const char *axis, const char *name)
{
    int rc = buf_printf(b, "\nset %s ", axis);
    if (rc == 0)
        rc = add_quoted(b, name);
    return rc == 0 ? buf_str(b, " noenhanced") : rc;
}

/* One frame: its curves, told apart by dashes too, then their points. */
static int write_frame(struct buf *b, const struct plot_series *series, int n_series)
{
    int rc = add_axis_name(b, "ylabel", series->y_name != NULL ? series->y_name : "");
    for (int s = 0; s < n_series && rc == 0; s++) {
        rc = buf_printf(b, "%s'-' with %s lw 2 dt %d title ", s == 0 ? "\nplot " : ", ",
                        series[s].n <= FEW_POINTS ? "linespoints" : "lines", s + 1);
        if (rc == 0)
            rc = add_quoted(b, series[s].name);
    }
    for (int s = 0; s < n_series && rc == 0; s++) {
        rc = buf_char(b, '\n');
        for (int i = 0; i < series[s].n && rc == 0; i++)
            if (plot_is_point(&series[s], i))
                rc = buf_printf(b, "%.9g %.9g\n", series[s].x[i], series[s].y[i]);
        if (rc == 0)
            rc = buf_str(b, "e");
    }
    return rc;
}

/* What gnuplot is told: data inline, so nothing but its standard input is read, and nothing but
 * its standard output written. */
static int write_script(struct buf *b, const char *terminal, const struct plot_series *series,
                        int n_series, const char *x_name)
{
    int n_frames = 0;
    for (int at = 0; at < n_series; at += plot_frame_series(series + at, n_series - at))
        n_frames++;
    const struct plot_span x = plot_span_x(series, n_series);
    int rc = buf_printf(b, "set terminal %s size 900,%d\n", terminal,
                        n_frames > 1 ? 280 * n_frames : 500);
    if (rc == 0)
        rc = buf_str(b, "set grid\nset key top right noenhanced");
    if (rc == 0 && n_frames > 1 && x.low < x.high)
        rc = buf_printf(b, "\nset lmargin 12\nset xrange [%.9g:%.9g]", x.low, x.high);
    if (rc == 0)
        rc = add_axis_name(b, "xlabel", x_name);
    if (rc == 0 && n_frames > 1)
        rc = buf_printf(b, "\nset multiplot layout %d,1", n_frames);
    for (int at = 0, n; at < n_series && rc == 0; at += n) {
        n = plot_frame_series(series + at, n_series - at);
        rc = write_frame(b, series + at, n);
    }
    return rc == 0 ? buf_str(b, "\n") : rc;
}

/* gnuplot's picture for this script, appended to out; what it warns of besides is nobody's. */
static int run_gnuplot(const struct buf *script, struct buf *out)
{
    char *argv[] = {"gnuplot", NULL};
    const int rc = child_run(out, "gnuplot", argv[0], argv, buf_text(script), CHILD_KEEPS);
    if (rc == ERR_MISSING)
        return err_set(ERR_MISSING, "pictures need gnuplot: apt-get install gnuplot-nox");
    return rc == 0 && out->n == 0 ? err_set(ERR_IO, "gnuplot drew no picture") : rc;
}

/* gnuplot's word for a picture of the path's ending; NULL: there is none. */
static const char *find_terminal(const char *path)
{
    const char *end = strrchr(path, '.');
    if (end != NULL && strcmp(end, ".svg") == 0)
        return "svg background 'white'";
    return end != NULL && strcmp(end, ".png") == 0 ? "pngcairo" : NULL;
}

int plot_write_check(const char *path, bool force)
{
    struct file_writer w = {.fd = -1};
    int rc = find_terminal(path) != NULL
                 ? file_create(&w, path, force)
                 : err_set(ERR_UNSUPPORTED, "pictures are written as .svg or .png");
    file_abandon(&w);
    return rc;
}

int plot_write(const char *path, bool force, const struct plot_series *series, int n_series,
               const char *x_name)
{
    const char *terminal = find_terminal(path);
    if (terminal == NULL)
        return plot_write_check(path, force);
    struct buf script = {0}, picture = {0};
    struct file_writer w = {.fd = -1};
    int rc = plot_check(series, n_series);
    if (rc == 0)
        rc = file_create(&w, path, force);
    if (rc == 0)
        rc = write_script(&script, terminal, series, n_series, x_name);
    if (rc == 0 && (rc = run_gnuplot(&script, &picture)) == 0 &&
        (rc = file_write(&w, picture.data, picture.n)) == 0)
        rc = file_commit(&w);
    file_abandon(&w);
    buf_release(&script);
    buf_release(&picture);
    return rc;
}
