#include "repl/terminal/train_lines.h"

#include "model/base/clock.h"
#include "repl/terminal/status_line.h"
#include "repl/terminal/chances.h"
#include "repl/terminal/duration.h"
#include "repl/terminal/number.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/sparkline.h"
#include "repl/terminal/term.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BAR = 24, LEAST_BAR = 6, LAYER = 6, SITE = 34, CURVE = 48 };
static const char NEXT_ROW[] = "\n  ";
static const double EVERY_S = 0.1, CURVE_EVERY_S = 10;

static struct {
    double drawn; /* when the bar was */
    /* The loss of all lines, and of those since an epoch's curve was shown last. */
    struct sparkline all, part;
    double part_begun, shown; /* the epoch, and when */
} live;

/* "step 40/200", the number of all as wide as it will get. */
static int add_step(struct buf *out, const struct metrics *m, int64_t step)
{
    char all[24];
    int n = snprintf(all, sizeof all, "%" PRId64, m->n_steps);
    if (m->n_steps == 0)
        return buf_printf(out, "step %" PRId64, step);
    return buf_printf(out, "step %*" PRId64 "/%s", n, step, all);
}

/* The figures of a line, at length and in brief. */
enum { LONG, BRIEF, N_FORMS };
enum { MAX_FIGURES = 16, FIGURE = 96, N_RANKS = 4 };
static const char BETWEEN[] = "  ";
struct figures {
    char text[MAX_FIGURES][N_FORMS][FIGURE];
    int rank[MAX_FIGURES]; /* 0: shown at any width; the greatest are the first to be left out */
    int n, n_usual;        /* the last ones come now and then */
    int share;             /* which is the share of sgemm; 0: none */
};

__attribute__((format(printf, 3, 5), format(printf, 4, 5))) static void
add_figure(struct figures *f, int rank, const char *long_form, const char *brief_form, ...)
{
    const char *const formats[N_FORMS] = {long_form, brief_form};
    for (int form = 0; form < N_FORMS; form++) {
        va_list args;
        va_start(args, brief_form);
        vsnprintf(f->text[f->n][form], FIGURE, formats[form], args);
        va_end(args);
    }
    f->rank[f->n++] = rank;
}

/* In rows above 10 as wide as below. */
static void add_loss(struct figures *f, double loss, bool in_rows)
{
    const int fewer = in_rows && loss >= 9.9995;
    add_figure(f, 0, "loss %.*f", "loss %.*f", 4 - fewer, loss);
    snprintf(f->text[f->n - 1][BRIEF], FIGURE, "loss %.*f", 3 - fewer, loss);
}

/* in_rows: below each other, so padded. */
static void add_rate(struct figures *f, double rate, bool in_rows)
{
    char precise[NUMBER_TEXT], rough[NUMBER_TEXT];
    snprintf(precise, sizeof precise, rate == 0 ? "%.0f" : "%.2e", rate);
    snprintf(rough, sizeof rough, rate == 0 ? "%.0f" : "%.1e", rate);
    add_figure(f, 0, "lr %*s", "lr %*s", in_rows ? 7 : 0, number_shorten(precise));
    const int pad = in_rows ? 6 : 0;
    snprintf(f->text[f->n - 1][BRIEF], FIGURE, "lr %*s", pad, number_shorten(rough));
}

/* As wide as it will get. */
static void add_epoch(struct figures *f, const struct metrics *m, bool in_rows)
{
    const double all = m->step > 0 ? m->epoch * (double)m->n_steps / (double)m->step : 0;
    add_figure(f, 0, "epoch %*.2f", "epoch %*.2f", in_rows ? snprintf(NULL, 0, "%.2f", all) : 0,
               m->epoch);
}

static void add_speed(struct figures *f, const struct metrics *m, bool in_rows)
{
    char tokens[NUMBER_TEXT];
    if (in_rows && m->tokens_per_s >= 99999.5)
        number_count(tokens, m->tokens_per_s);
    else
        snprintf(tokens, sizeof tokens, "%.0f", m->tokens_per_s);
    add_figure(f, 0, "%*s tokens/s", "%*s tok/s", in_rows ? 5 : 0, tokens);
    add_figure(f, 3, "%*.1f samples/s", "%*.1f samples/s", in_rows ? 5 : 0, m->samples_per_s);
}

/* Small models reach little of it: 0.4 %, not 0 %. */
static void add_share(struct figures *f, double percent, bool in_rows)
{
    const int digits = percent < 9.5 ? 1 : 0;
    f->share = f->n;
    add_figure(f, 0, "%*.*f %% of sgemm", "%*.*f %% sgemm", in_rows ? 3 : 0, digits,
               fmax(percent, 0.1));
}

static void add_figures(struct figures *f, const struct metrics *m, bool in_rows, bool with_left)
{
    char left[24];
    const double left_s = metrics_left_s(m, (double)m->step);
    add_epoch(f, m, in_rows);
    if (isfinite(m->loss)) {
        add_loss(f, m->loss, in_rows);
        add_figure(f, 1, "accuracy %.3f", "acc %.3f", m->accuracy);
    }
    if (m->step > 0 && isfinite(m->grad_norm)) {
        add_rate(f, m->learning_rate, in_rows);
        add_figure(f, 2, "norm %*.3f", "norm %*.2f", in_rows ? 6 : 0, m->grad_norm);
    }
    if (m->tokens_per_s > 0)
        add_speed(f, m, in_rows);
    if (m->share > 0)
        add_share(f, 100 * m->share, in_rows);
    f->n_usual = f->n;
    if (m->loss_scale > 1)
        add_figure(f, 0, "scale %.0f", "scale %.0f", m->loss_scale);
    if (m->skipped > 0)
        add_figure(f, 0, "%" PRId64 " skipped", "%" PRId64 " skipped", m->skipped);
    if (m->waited > 0)
        add_figure(f, 0, "rank %d waited for %.0f %%", "rank %d waits %.0f %%", m->waited_rank,
                   100 * m->waited);
    if (with_left && left_s > 0)
        add_figure(f, 0, "%s left", "%s left", duration_text(left, left_s));
    if (m->validation_step == m->step && isfinite(m->validation_loss))
        add_figure(f, 0, "validation loss %.4f%s", "validation loss %.4f%s", m->validation_loss,
                   m->step == 0              ? " before training"
                   : m->best_step == m->step ? " (best)"
                                             : "");
    if (m->evaluation != NULL && m->evaluation->n_figures > 0)
        add_figure(f, 0, "%s %s %.6g", "%s %s %.6g", m->evaluation->name,
                   m->evaluation->figures[0].text, m->evaluation->figures[0].value);
}

static int figures_columns(const struct figures *f, int n, int form, int rank)
{
    int columns = 0;
    for (int i = 0; i < n; i++)
        if (f->rank[i] <= rank)
            columns += (int)(strlen(BETWEEN) + strlen(f->text[i][form]));
    return columns;
}

/* Behind `column` columns of `width`, 0: of any number. */
static int put_figures(struct buf *out, const struct figures *f, int form, int rank, int column,
                       int width)
{
    int rc = 0;
    for (int i = 0; i < f->n && rc == 0; i++) {
        const char *text = f->text[i][form];
        const int n = (int)strlen(text);
        if (f->rank[i] > rank)
            continue;
        column += (int)strlen(BETWEEN) + n;
        const bool breaks = width > 0 && column > width;
        if (breaks) {
            text += strspn(text, " ");
            column = (int)strlen(NEXT_ROW) - 1 + (int)strlen(text);
        }
        rc = buf_printf(out, "%s%s", breaks ? NEXT_ROW : BETWEEN, text);
    }
    return rc;
}

int train_lines_format(const struct metrics *m, int width, struct buf *out)
{
    struct figures f = {.n = 0};
    const size_t start = out->n;
    int rc = add_step(out, m, m->step);
    const int column = (int)(out->n - start);
    add_figures(&f, m, false, true);
    const bool fits = width == 0 || column + figures_columns(&f, f.n, LONG, N_RANKS) <= width;
    const int form =
        !fits && column + figures_columns(&f, f.n, BRIEF, N_RANKS) <= width ? BRIEF : LONG;
    return rc == 0 ? put_figures(out, &f, form, N_RANKS, column, width) : rc;
}

int train_lines_format_row(const struct metrics *m, int width, bool with_left, struct buf *out)
{
    struct figures f = {.n = 0};
    const size_t start = out->n;
    int rc = add_step(out, m, m->step), form = LONG, rank = N_RANKS - 1;
    const int column = (int)(out->n - start);
    add_figures(&f, m, true, with_left);
    /* What is not known yet will be in the rows to come, which have the same names. */
    const int later = m->share > 0 || m->tokens_per_s <= 0 ? 0 : (int)strlen("  100 % of sgemm");
    while (column + later + figures_columns(&f, f.n_usual, form, rank) > width &&
           (rank > 0 || form == LONG))
        if (rank-- == 0) {
            rank = 0;
            form = BRIEF;
        }
    /* Alone in a second row the share says less than it costs. */
    const int over = column + figures_columns(&f, f.n_usual, form, rank) - width;
    if (f.share > 0 && over > 0 && over <= (int)(strlen(BETWEEN) + strlen(f.text[f.share][form])))
        f.rank[f.share] = N_RANKS;
    return rc == 0 ? put_figures(out, &f, form, rank, column, width) : rc;
}

/* ---- the loss as a small curve ---- */

/* False: there is not enough of it. */
static bool show_curve(const char *label, const struct sparkline *s)
{
    struct buf text = {0};
    const int room = term_width(stdout) - 1 - term_columns(label, strlen(label));
    const bool drawn =
        sparkline_draw(&text, s, room < CURVE ? room : CURVE, term_utf8()) == 0 && text.n > 0;
    if (drawn)
        printf("%s%s%s%s\n", term_dim(stdout), label, term_plain(stdout), buf_text(&text));
    buf_release(&text);
    return drawn;
}

/* Epochs that are over sooner than a curve can be looked at have one together. */
static void show_epoch_curve(const struct metrics *m)
{
    const double now = clock_s(), over = floor(m->epoch + 1e-9);
    const bool ends = m->n_steps > 0 && m->step >= m->n_steps;
    char label[64];
    if (over <= live.part_begun || now - live.shown < CURVE_EVERY_S || ends)
        return;
    if (over - live.part_begun > 1)
        snprintf(label, sizeof label, "epochs %.0f to %.0f: loss ", live.part_begun + 1, over);
    else
        snprintf(label, sizeof label, "epoch %.0f: loss ", over);
    if (!show_curve(label, &live.part))
        return;
    live.part = (struct sparkline){0};
    live.part_begun = over;
    live.shown = now;
}

void train_lines_begin(void)
{
    live.all = live.part = (struct sparkline){0};
    live.part_begun = -1;
}

void train_lines_end(void)
{
    if (term_is(stdout))
        (void)show_curve("loss ", &live.all);
}

static void note_loss(const struct metrics *m)
{
    if (live.part_begun < 0) {
        live.part_begun = floor(m->epoch);
        live.shown = -CURVE_EVERY_S;
    }
    sparkline_add(&live.all, m->loss);
    sparkline_add(&live.part, m->loss);
}

void train_lines_show(const struct metrics *m)
{
    struct buf line = {0};
    const bool terminal = term_is(stdout);
    progress_wipe();
    const int rc = terminal ? train_lines_format_row(m, term_width(stdout) - 1,
                                                     !status_line_available(), &line)
                            : train_lines_format(m, 0, &line);
    if (rc == 0)
        puts(buf_text(&line));
    if (terminal) {
        note_loss(m);
        show_epoch_curve(m);
    }
    fflush(stdout);
    live.drawn = 0; /* it took the bar's place */
    buf_release(&line);
}

/* The sites first to last side by side. */
static void show_sites(const struct activation_stats *w, int first, int last)
{
    static const char *const sites[N_ACTIVATION_SITES] = {"attention", "inside the mlp",
                                                          "residual"};
    printf("%-*s", LAYER, "");
    for (int k = first; k <= last; k++)
        printf("%*s", SITE, sites[k]);
    printf("\n%-*s", LAYER, "layer");
    for (int k = first; k <= last; k++)
        printf("%10s%9s%9s%6s", "mean", "std", "max", "zero");
    putchar('\n');
    for (int i = 0; i < w->n_layer; i++) {
        printf("%-*d", LAYER, i);
        for (int k = first; k <= last; k++) {
            const struct activation_summary s = activation_stats_of(w, i, (enum activation_site)k);
            printf("%10.3g%9.3g%9.3g%5.0f%%", s.mean, s.std, s.max, 100 * s.zeros);
        }
        putchar('\n');
    }
}

void train_lines_show_activations(const struct metrics *m, const struct activation_stats *w)
{
    const int width = term_is(stdout) ? term_width(stdout) : INT_MAX;
    int each = (width - LAYER) / SITE;
    each = each < 1 ? 1 : each > N_ACTIVATION_SITES ? N_ACTIVATION_SITES : each;
    progress_wipe();
    printf("%sactivations at step %" PRId64 "\n", term_dim(stdout), m->step);
    for (int k = 0; k < N_ACTIVATION_SITES; k += each)
        show_sites(w, k, k + each > N_ACTIVATION_SITES ? N_ACTIVATION_SITES - 1 : k + each - 1);
    fputs(term_plain(stdout), stdout);
    fflush(stdout);
}

/* "step 13/200, 40 % of it, 12 s left"; without an end only the step in progress. */
static int add_bar_text(struct buf *out, const struct metrics *m, int64_t step, double part,
                        bool with_part)
{
    char left[24];
    const double left_s = metrics_left_s(m, (double)step + part);
    int rc = add_step(out, m, step + 1);
    if (rc == 0 && part > 0 && with_part)
        rc = buf_printf(out, ", %.0f %% of it", 100 * part);
    if (rc == 0 && left_s >= 0)
        rc = buf_printf(out, ", %s left", duration_text(left, left_s));
    return rc;
}

/* "[=====>     ] step 13/200, 12 s left", the bar as long as the text leaves it room. */
static int format_bar(const struct metrics *m, int64_t step, double part, int width,
                      struct buf *out)
{
    static const char marks[BAR + 1] = "========================";
    const double done = metrics_done(m, (double)step + part);
    struct buf text = {0};
    int rc = add_bar_text(&text, m, step, part, true);
    if (rc == 0 && (int)text.n + LEAST_BAR + 3 > width) {
        text.n = 0;
        rc = add_bar_text(&text, m, step, part, false);
    }
    int bar = width - (int)text.n - 3;
    bar = bar > BAR ? BAR : bar;
    const int full = (int)((done < 0 ? part : done) * bar);
    if (rc == 0 && bar >= LEAST_BAR && term_utf8()) {
        if ((rc = buf_char(out, '[')) == 0 &&
            (rc = chances_bar(out, done < 0 ? part : done, bar, true)) == 0)
            rc = buf_str(out, "] ");
    } else if (rc == 0 && bar >= LEAST_BAR) {
        rc = buf_printf(out, "[%.*s%s%*s] ", full, marks, full < bar ? ">" : "",
                        full < bar ? bar - full - 1 : 0, "");
    }
    if (rc == 0)
        rc = buf_add(out, text.data, text.n);
    buf_release(&text);
    return rc;
}

void train_lines_draw_bar(const struct metrics *m, int64_t step, double part)
{
    double now = clock_s();
    struct buf text = {0};
    if (!status_line_available() || now - live.drawn < EVERY_S)
        return;
    live.drawn = now;
    progress_forget();
    if (format_bar(m, step, part, term_width(stderr) - 1, &text) == 0)
        status_line_draw(buf_text(&text));
    buf_release(&text);
}
