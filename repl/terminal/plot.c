/*
 * A curve is drawn into a field of dots, row 0 at the top, and the field printed by characters of
 * DOTS_X by DOTS_Y of them in braille, of one in ASCII. Dots know their curve, from 1: where two
 * meet, the later one is seen. A frame's y axis is widened to round figures first, so that a mark
 * stands at its edges.
 */
#include "repl/terminal/plot.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DOTS_X = 2, DOTS_Y = 4, LABEL = 10, MAX_SERIES = 8, MIN_WIDTH = 30, MIN_HEIGHT = 6 };

struct frame {
    double x0, x1, y0, y1;
    int columns, rows; /* of characters inside */
};

static bool is_point(const struct plot_series *s, int i)
{
    return isfinite(s->x[i]) && isfinite(s->y[i]);
}

/* The step of round figures (1, 2 or 5 times a power of ten) for about n of them. */
static double round_step(double span, int n)
{
    double raw = span / n, power = pow(10, floor(log10(raw))), part = raw / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static int measure_frame(struct frame *f, const struct plot_series *series, int n_series)
{
    f->x0 = f->y0 = DBL_MAX;
    f->x1 = f->y1 = -DBL_MAX;
    for (int s = 0; s < n_series; s++)
        for (int i = 0; i < series[s].n; i++) {
            if (!is_point(&series[s], i))
                continue;
            f->x0 = fmin(f->x0, series[s].x[i]);
            f->x1 = fmax(f->x1, series[s].x[i]);
            f->y0 = fmin(f->y0, series[s].y[i]);
            f->y1 = fmax(f->y1, series[s].y[i]);
        }
    if (f->x0 > f->x1)
        return err_set(ERR_MISSING, "there is nothing to plot yet");
    if (f->x0 == f->x1)
        f->x1 += 1;
    double span = f->y1 - f->y0;
    if (span <= fabs(f->y1) * 1e-9)
        span = f->y1 == 0 ? 1 : fabs(f->y1) * 0.1;
    double step = round_step(span, 4);
    f->y0 = floor(f->y0 / step) * step;
    f->y1 = fmax(ceil(f->y1 / step) * step, f->y0 + step);
    return 0;
}

/* A field of dots: which curve (from 1) has a dot there, the last one drawn. */
struct field {
    unsigned char *dot; /* [height][width] */
    int width, height;
};

static void draw_line(struct field *d, double xa, double ya, double xb, double yb, int series)
{
    int n = (int)fmax(fabs(xb - xa), fabs(yb - ya)) + 1;
    for (int i = 0; i <= n; i++) {
        int x = (int)lround(xa + (xb - xa) * i / n), y = (int)lround(ya + (yb - ya) * i / n);
        if (x >= 0 && x < d->width && y >= 0 && y < d->height)
            d->dot[y * d->width + x] = (unsigned char)(series + 1);
    }
}

static void draw_series(struct field *d, const struct frame *f, const struct plot_series *s, int k)
{
    double xa = 0, ya = 0;
    bool any = false;
    for (int i = 0; i < s->n; i++) {
        if (!is_point(s, i))
            continue;
        double x = (s->x[i] - f->x0) / (f->x1 - f->x0) * (d->width - 1);
        double y = (f->y1 - s->y[i]) / (f->y1 - f->y0) * (d->height - 1);
        draw_line(d, any ? xa : x, any ? ya : y, x, y, k);
        xa = x;
        ya = y;
        any = true;
    }
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
    return mask == 0 ? buf_char(out, ' ') : buf_add(out, utf8, sizeof utf8);
}

static const char signs[MAX_SERIES + 1] = "*+ox#@%&";

static const char PLAIN[] = "\033[0m";

/* The curve that has the last dot of a cell; 0: none has. */
static int cell_curve(const struct field *d, int column, int row)
{
    int curve = 0;
    for (int y = 0; y < DOTS_Y; y++)
        for (int x = 0; x < DOTS_X; x++) {
            int dot = d->dot[(row * DOTS_Y + y) * d->width + column * DOTS_X + x];
            curve = dot > curve ? dot : curve;
        }
    return curve;
}

/* The field of one row, where curves have colours in these. */
static int add_dots(struct buf *out, const struct frame *f, const struct field *d, int row,
                    const struct plot_series *series)
{
    int rc = 0, was = 0;
    for (int c = 0; c < f->columns && rc == 0; c++) {
        int curve = cell_curve(d, c, row);
        if (curve != 0 && curve != was && series[curve - 1].color != NULL)
            rc = buf_str(out, series[curve - 1].color);
        if (curve != 0)
            was = curve;
        if (rc == 0)
            rc = add_braille(out, d, c, row);
    }
    return rc == 0 && was != 0 && series[was - 1].color != NULL ? buf_str(out, PLAIN) : rc;
}

static int add_row(struct buf *out, const struct frame *f, const struct field *d, int row,
                   const struct plot_series *series, bool braille)
{
    int rc = 0;
    double step = round_step(f->y1 - f->y0, 4), high = f->y1 - (f->y1 - f->y0) * row / f->rows;
    double low = f->y1 - (f->y1 - f->y0) * (row + 1) / f->rows, at = ceil(low / step - 1e-9) * step;
    /* A mark between two rows is the lower one's; there is none below the last. */
    bool last = row == f->rows - 1;
    bool label = at < high + step * 1e-9 && (last || at > low + step * 1e-9);
    if (fabs(at) < step * 1e-6)
        at = 0;
    rc = label ? buf_printf(out, "%*.5g ", LABEL - 2, at) : buf_printf(out, "%*s", LABEL - 1, "");
    if (rc == 0)
        rc = buf_str(out, braille ? (label ? "┤" : "│") : label ? "+" : "|");
    if (rc == 0 && braille)
        rc = add_dots(out, f, d, row, series);
    for (int c = 0; c < f->columns && rc == 0 && !braille; c++) {
        int sign = d->dot[row * d->width + c];
        rc = buf_char(out, sign == 0 ? ' ' : signs[sign - 1]);
    }
    return rc == 0 ? buf_char(out, '\n') : rc;
}

static int add_foot(struct buf *out, const struct frame *f, const struct plot_series *series,
                    int n_series, const char *x_name, bool braille)
{
    char left[32], right[64];
    snprintf(left, sizeof left, "%.5g", f->x0);
    snprintf(right, sizeof right, "%s %.5g", x_name, f->x1);
    int gap = f->columns - (int)strlen(left) - (int)strlen(right);
    int rc = buf_printf(out, "%*s%s%*s%s\n%*s", LABEL, "", left, gap < 1 ? 1 : gap, "", right,
                        LABEL, "");
    for (int s = 0; s < n_series && rc == 0; s++) {
        double last = NAN;
        for (int i = 0; i < series[s].n; i++)
            last = is_point(&series[s], i) ? series[s].y[i] : last;
        rc = buf_printf(out, "%s", s == 0 ? "" : "   ");
        if (rc == 0 && !braille && n_series > 1)
            rc = buf_printf(out, "%c ", signs[s]);
        const char *color = braille && series[s].color != NULL ? series[s].color : "";
        if (rc == 0)
            rc = buf_printf(out, "%s%s%s %.5g", color, series[s].name, *color == '\0' ? "" : PLAIN,
                            last);
    }
    return rc == 0 ? buf_char(out, '\n') : rc;
}

/* The curves of one frame. */
static int draw_frame(struct buf *out, const struct plot_series *series, int n_series,
                      const char *x_name, int width, int height, bool braille)
{
    struct frame f;
    int rc = measure_frame(&f, series, n_series);
    if (rc != 0)
        return rc;
    braille = braille && (n_series == 1 || series[0].color != NULL);
    f.columns = (width < MIN_WIDTH ? MIN_WIDTH : width) - LABEL - 1;
    f.rows = height < MIN_HEIGHT ? MIN_HEIGHT : height;
    struct field d = {.width = f.columns * (braille ? DOTS_X : 1),
                      .height = f.rows * (braille ? DOTS_Y : 1)};
    d.dot = mem_array((size_t)d.width * (size_t)d.height, 1);
    if (d.dot == NULL)
        return ERR_NOMEM;
    for (int s = 0; s < n_series; s++)
        draw_series(&d, &f, &series[s], s);
    for (int row = 0; row < f.rows && rc == 0; row++)
        rc = add_row(out, &f, &d, row, series, braille);
    mem_free(d.dot);
    return rc == 0 ? add_foot(out, &f, series, n_series, x_name, braille) : rc;
}

/* How many of the first series have the frame of the first. */
static int count_frame_series(const struct plot_series *series, int n_series)
{
    int n = 0;
    while (n < n_series && series[n].frame == series[0].frame)
        n++;
    return n;
}

int plot_draw(struct buf *out, const struct plot_series *series, int n_series, const char *x_name,
              int width, int height, bool braille)
{
    if (n_series > MAX_SERIES)
        return err_set(ERR_RANGE, "%d curves in one picture, at most %d", n_series, MAX_SERIES);
    if (n_series == 0)
        return err_set(ERR_MISSING, "there is nothing to plot yet");
    int rc = 0;
    for (int at = 0, n; at < n_series && rc == 0; at += n) {
        n = count_frame_series(series + at, n_series - at);
        rc = draw_frame(out, series + at, n, x_name, width, height, braille);
    }
    return rc;
}

/* A gnuplot string: single quotes, doubled inside. */
static int add_quoted(struct buf *b, const char *s)
{
    int rc = buf_char(b, '\'');
    for (; *s != '\0' && rc == 0; s++)
        rc = *s == '\'' ? buf_str(b, "''") : buf_char(b, *s == '\n' ? ' ' : *s);
    return rc == 0 ? buf_char(b, '\'') : rc;
}

/* One frame: its curves, then their points. */
static int write_frame(struct buf *b, const struct plot_series *series, int n_series)
{
    int rc = 0;
    for (int s = 0; s < n_series && rc == 0; s++) {
        rc = buf_str(b,
                     s == 0 ? "\nplot '-' with lines lw 2 title " : ", '-' with lines lw 2 title ");
        if (rc == 0)
            rc = add_quoted(b, series[s].name);
    }
    for (int s = 0; s < n_series && rc == 0; s++) {
        rc = buf_char(b, '\n');
        for (int i = 0; i < series[s].n && rc == 0; i++)
            if (is_point(&series[s], i))
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
    for (int at = 0; at < n_series; at += count_frame_series(series + at, n_series - at))
        n_frames++;
    int rc = buf_printf(b, "set terminal %s size 900,%d\n", terminal,
                        n_frames > 1 ? 280 * n_frames : 500);
    if (rc == 0)
        rc = buf_str(b, "set grid\nset key top right noenhanced\nset xlabel ");
    if (rc == 0)
        rc = add_quoted(b, x_name);
    if (rc == 0 && n_frames > 1)
        rc = buf_printf(b, "\nset multiplot layout %d,1", n_frames);
    for (int at = 0, n; at < n_series && rc == 0; at += n) {
        n = count_frame_series(series + at, n_series - at);
        rc = write_frame(b, series + at, n);
    }
    return rc == 0 ? buf_str(b, "\n") : rc;
}

/* A file in memory that begins with these bytes, to be closed. */
static int memory_file(const char *name, const struct buf *begin)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    for (size_t done = 0; fd >= 0 && done < begin->n;) {
        ssize_t w = pwrite(fd, begin->data + done, begin->n - done, (off_t)done);
        if (w <= 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        done += w > 0 ? (size_t)w : 0;
    }
    return fd;
}

/* gnuplot's picture for this script, appended to out; what it says besides is nobody's. */
static int run_gnuplot(const struct buf *script, struct buf *out)
{
    extern char **environ;
    char *argv[] = {"gnuplot", NULL};
    int status = -1, in = memory_file("script", script), made = memory_file("picture", out);
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, 0);
    posix_spawn_file_actions_adddup2(&actions, made, 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int rc = in < 0 || made < 0 ? err_errno("cannot keep a picture in memory") : 0;
    if (rc == 0 && posix_spawnp(&pid, "gnuplot", &actions, NULL, argv, environ) != 0)
        rc = err_set(ERR_MISSING, "pictures need gnuplot: apt-get install gnuplot-nox");
    posix_spawn_file_actions_destroy(&actions);
    while (rc == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (rc == 0 && lseek(made, 0, SEEK_SET) == 0)
        rc = file_read_fd(out, made);
    if (rc == 0 && (status != 0 || out->n == 0))
        rc = err_set(ERR_IO, "gnuplot could not draw the picture");
    if (in >= 0)
        close(in);
    if (made >= 0)
        close(made);
    return rc;
}

int plot_write(const char *path, bool force, const struct plot_series *series, int n_series,
               const char *x_name)
{
    const char *end = strrchr(path, '.'), *terminal = NULL;
    if (end != NULL && strcmp(end, ".svg") == 0)
        terminal = "svg background 'white'";
    else if (end != NULL && strcmp(end, ".png") == 0)
        terminal = "pngcairo";
    if (terminal == NULL)
        return err_set(ERR_UNSUPPORTED, "pictures are written as .svg or .png");
    struct frame f;
    struct buf script = {0}, picture = {0};
    struct file_writer w = {.fd = -1};
    int rc = measure_frame(&f, series, n_series);
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
