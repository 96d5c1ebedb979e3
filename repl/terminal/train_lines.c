#include "repl/terminal/train_lines.h"

#include "model/base/clock.h"
#include "repl/terminal/status_line.h"
#include "repl/terminal/duration.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/term.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BAR = 24, LAYER = 6, SITE = 34 };
static const char NEXT_ROW[] = "\n    ";
static const double EVERY_S = 0.1;

static double drawn; /* when the bar was */

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
enum { MAX_FIGURES = 16, FIGURE = 96 };
static const char *const between[N_FORMS] = {"  ", " "};
struct figures {
    char text[MAX_FIGURES][N_FORMS][FIGURE];
    int n;
};

__attribute__((format(printf, 2, 4), format(printf, 3, 4))) static void
add_figure(struct figures *f, const char *long_form, const char *brief_form, ...)
{
    const char *const formats[N_FORMS] = {long_form, brief_form};
    for (int form = 0; form < N_FORMS; form++) {
        va_list args;
        va_start(args, brief_form);
        vsnprintf(f->text[f->n][form], FIGURE, formats[form], args);
        va_end(args);
    }
    f->n++;
}

/* Small models reach little of it: 0.4 %, not 0 %. */
static void add_share(struct figures *f, double percent)
{
    const int digits = percent < 9.5 ? 1 : 0;
    add_figure(f, "%.*f %% of sgemm", "%.*f%%", digits, fmax(percent, 0.1));
}

static void add_figures(struct figures *f, const struct metrics *m)
{
    char left[24];
    const double left_s = metrics_left_s(m, (double)m->step);
    add_figure(f, "epoch %.2f", "ep %.2f", m->epoch);
    if (isfinite(m->loss)) {
        add_figure(f, "loss %.4f", "loss %.3f", m->loss);
        add_figure(f, "accuracy %.3f", "acc %.3f", m->accuracy);
    }
    if (m->step > 0 && isfinite(m->grad_norm)) {
        add_figure(f, "rate %.2e", "lr %.1e", m->learning_rate);
        add_figure(f, "norm %.3f", "norm %.2f", m->grad_norm);
    }
    if (m->tokens_per_s > 0) {
        add_figure(f, "%.0f tokens/s", "%.0f tok/s", m->tokens_per_s);
        add_figure(f, "%.1f samples/s", "%.1f/s", m->samples_per_s);
    }
    if (m->share > 0)
        add_share(f, 100 * m->share);
    if (m->loss_scale > 1)
        add_figure(f, "scale %.0f", "scale %.0f", m->loss_scale);
    if (m->skipped > 0)
        add_figure(f, "%" PRId64 " skipped", "%" PRId64 " skipped", m->skipped);
    if (left_s > 0)
        add_figure(f, "%s left", "%s left", duration_text(left, left_s));
    if (m->step > 0 && m->validation_step == m->step)
        add_figure(f, "validation %.4f%s", "val %.4f%s", m->validation_loss,
                   m->best_step == m->step ? " (best)" : "");
    if (m->evaluation != NULL && m->evaluation->n_figures > 0)
        add_figure(f, "%s %s %.6g", "%s %s %.6g", m->evaluation->name,
                   m->evaluation->figures[0].text, m->evaluation->figures[0].value);
}

static int figures_columns(const struct figures *f, int form)
{
    int n = 0;
    for (int i = 0; i < f->n; i++)
        n += (int)(strlen(between[form]) + strlen(f->text[i][form]));
    return n;
}

int train_lines_format(const struct metrics *m, int width, struct buf *out)
{
    struct figures f = {.n = 0};
    const size_t start = out->n;
    int rc = add_step(out, m, m->step);
    int column = (int)(out->n - start);
    add_figures(&f, m);
    const bool fits = width == 0 || column + figures_columns(&f, LONG) <= width;
    const int form = !fits && column + figures_columns(&f, BRIEF) <= width ? BRIEF : LONG;
    for (int i = 0; i < f.n && rc == 0; i++) {
        int n = (int)strlen(f.text[i][form]);
        column += (int)strlen(between[form]) + n;
        bool breaks = width > 0 && column > width;
        if (breaks)
            column = (int)strlen(NEXT_ROW) - 1 + n;
        rc = buf_printf(out, "%s%s", breaks ? NEXT_ROW : between[form], f.text[i][form]);
    }
    return rc;
}

void train_lines_show(const struct metrics *m)
{
    struct buf line = {0};
    progress_wipe();
    if (train_lines_format(m, term_is(stdout) ? term_width(stdout) : 0, &line) == 0)
        puts(buf_text(&line));
    fflush(stdout);
    drawn = 0; /* it took the bar's place */
    buf_release(&line);
}

/* The sites first to last side by side. */
static void show_sites(const struct activation_stats *w, int first, int last)
{
    static const char *const sites[N_ACTIVATION_SITES] = {"attention", "inside the mlp", "residual"};
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

/* "[=====>     ] step 13/200, 12 s left"; without an end only the step in progress. */
static int format_bar(const struct metrics *m, int64_t step, double part, struct buf *out)
{
    static const char marks[BAR + 1] = "========================";
    char left[24];
    const double steps = (double)step + part, left_s = metrics_left_s(m, steps);
    double done = metrics_done(m, steps);
    int full = (int)((done < 0 ? part : done) * BAR);
    int rc = buf_printf(out, "[%.*s%s%*s] ", full, marks, full < BAR ? ">" : "",
                        full < BAR ? BAR - full - 1 : 0, "");
    if (rc == 0)
        rc = add_step(out, m, step + 1);
    if (rc == 0 && part > 0)
        rc = buf_printf(out, ", %.0f %% of it", 100 * part);
    if (rc == 0 && left_s >= 0)
        rc = buf_printf(out, ", %s left", duration_text(left, left_s));
    return rc;
}

void train_lines_draw_bar(const struct metrics *m, int64_t step, double part)
{
    double now = clock_s();
    struct buf text = {0};
    if (!status_line_available() || now - drawn < EVERY_S)
        return;
    drawn = now;
    progress_forget();
    if (format_bar(m, step, part, &text) == 0)
        status_line_draw(buf_text(&text));
    buf_release(&text);
}
