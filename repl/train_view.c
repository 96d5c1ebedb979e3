#include "repl/train_view.h"

#include "model/base/clock.h"
#include "repl/progress.h"
#include "repl/term.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BAR = 24 };
static const double EVERY_S = 0.1;

static struct {
    double drawn;
    bool visible;
} bar;

const char *train_view_duration(char out[24], double s)
{
    long t = (long)(s + 0.5);
    if (t >= 86400)
        snprintf(out, 24, "%ld d %ld h", t / 86400, t / 3600 % 24);
    else if (t >= 3600)
        snprintf(out, 24, "%ld h %ld min", t / 3600, t / 60 % 60);
    else if (t >= 60)
        snprintf(out, 24, "%ld min %ld s", t / 60, t % 60);
    else
        snprintf(out, 24, "%ld s", t);
    return out;
}

/* "step 40/200", the number of all as wide as it will get. */
static int add_step(struct buf *out, const struct metrics *m, int64_t step)
{
    char all[24];
    int n = snprintf(all, sizeof all, "%" PRId64, m->n_steps);
    if (m->n_steps == 0)
        return buf_printf(out, "step %" PRId64, step);
    return buf_printf(out, "step %*" PRId64 "/%s", n, step, all);
}

int train_view_line(const struct metrics *m, struct buf *out)
{
    char left[24];
    int rc = add_step(out, m, m->step);
    if (rc == 0)
        rc = buf_printf(out, "  epoch %.2f", m->epoch);
    if (rc == 0 && isfinite(m->loss))
        rc = buf_printf(out, "  loss %.4f  accuracy %.3f", m->loss, m->accuracy);
    if (rc == 0 && m->step > 0)
        rc = buf_printf(out, "  rate %.3g  norm %.3f", m->learning_rate, m->grad_norm);
    if (rc == 0 && m->tokens_per_s > 0)
        rc = buf_printf(out, "  %.0f tokens/s  %.1f samples/s", m->tokens_per_s, m->samples_per_s);
    if (rc == 0 && m->share > 0)
        rc = buf_printf(out, "  %.0f %% of sgemm", 100 * m->share);
    if (rc == 0 && m->loss_scale > 1)
        rc = buf_printf(out, "  scale %.0f", m->loss_scale);
    if (rc == 0 && m->skipped > 0)
        rc = buf_printf(out, "  %" PRId64 " skipped", m->skipped);
    if (rc == 0 && m->left_s >= 0 && m->step < m->n_steps)
        rc = buf_printf(out, "  %s left", train_view_duration(left, m->left_s));
    if (rc == 0 && m->step > 0 && m->validation_step == m->step)
        rc = buf_printf(out, "  validation %.4f%s", m->validation_loss,
                        m->best_step == m->step ? " (best)" : "");
    if (rc == 0 && m->evaluation != NULL && m->evaluation->n_figures > 0)
        rc = buf_printf(out, "  %s %s %.6g", m->evaluation->name, m->evaluation->figures[0].text,
                        m->evaluation->figures[0].value);
    return rc;
}

void train_view_show(const struct metrics *m)
{
    struct buf line = {0};
    train_view_wipe();
    progress_wipe();
    if (train_view_line(m, &line) == 0)
        puts(buf_text(&line));
    fflush(stdout);
    buf_release(&line);
}

void train_view_activations(const struct metrics *m, const struct watch *w)
{
    static const char *const places[N_WATCHED] = {"attention", "inside the mlp", "residual"};
    train_view_wipe();
    progress_wipe();
    printf("%sactivations at step %" PRId64 "\n%8s", term_dim(stdout), m->step, "");
    for (int k = 0; k < N_WATCHED; k++)
        printf("%22s", places[k]);
    printf("\n%-8s", "layer");
    for (int k = 0; k < N_WATCHED; k++)
        printf("%8s%8s%6s", "std", "max", "zero");
    putchar('\n');
    for (int i = 0; i < w->n_layer; i++) {
        printf("%-8d", i);
        for (int k = 0; k < N_WATCHED; k++) {
            const struct watched_stats s = watch_stats(w, i, (enum watched)k);
            printf("%8.3g%8.3g%5.0f%%", s.std, s.max, 100 * s.zeros);
        }
        putchar('\n');
    }
    fputs(term_plain(stdout), stdout);
    fflush(stdout);
}

void train_view_wipe(void)
{
    if (bar.visible)
        fputs("\r\033[K", stderr);
    bar.visible = false;
}

/* "[=====>     ] step 13/200, 12 s left"; without an end only the step in progress. */
static int format_bar(const struct metrics *m, int64_t step, double part, struct buf *out)
{
    char left[24];
    double done = m->n_steps > 0 ? ((double)step + part) / (double)m->n_steps : part;
    int full = (int)(fmin(done, 1) * BAR);
    int rc =
        buf_printf(out, "[%.*s%s%*s] ", full, "========================", full < BAR ? ">" : "",
                   full < BAR ? BAR - full - 1 : 0, "");
    if (rc == 0)
        rc = add_step(out, m, step + 1);
    if (rc == 0 && part < 1)
        rc = buf_printf(out, ", %.0f %% of it", 100 * part);
    /* What was left at the last line, less the steps since. */
    if (rc == 0 && m->left_s > 0 && m->n_steps > m->step) {
        double each_s = m->left_s / (double)(m->n_steps - m->step);
        double left_s = each_s * ((double)(m->n_steps - step) - part);
        rc = buf_printf(out, ", %s left", train_view_duration(left, fmax(0, left_s)));
    }
    return rc;
}

void train_view_tick(const struct metrics *m, int64_t step, double part)
{
    double now = clock_s();
    struct buf text = {0};
    if (!term_is(stderr) || now - bar.drawn < EVERY_S)
        return;
    bar.drawn = now;
    progress_wipe();
    if (format_bar(m, step, part, &text) == 0) {
        fprintf(stderr, "\r%s%.*s%s\033[K", term_dim(stderr), term_width(stderr) - 1,
                buf_text(&text), term_plain(stderr));
        fflush(stderr);
        bar.visible = true;
    }
    buf_release(&text);
}
