/*
 * :bench history: two sides compared, figure by figure. Whether a difference is more than noise is
 * the Mann-Whitney U test of stats.h on all values of a side.
 */
#include "repl/commands/bench_spec.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/bench/results.h"
#include "repl/bench/stats.h"
#include "repl/session/repl.h"
#include "repl/session/unsaved.h"
#include "repl/terminal/number.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/table_fit.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <stdio.h>
#include <string.h>

enum {
    COLUMNS = 9,
    COLUMNS_ALONE = 4,
    SPARE_COLUMNS = 1 << 1 | 1 << 3 | 1 << 5, /* unit, and the numbers of runs */
    SPARE_ALONE = 1 << 3,
    SIDES_AND_P = 1 << 2 | 1 << 4 | 1 << 7 /* the change and its verdict remain */
};

struct sides {
    const struct records *all;
    struct buf names[2]; /* as result_is_of takes them */
    int n;               /* 1: there is nothing to compare with */
};

/* The newest record's machine and day, and the newest others of that machine, else of any. */
static int choose_newest(struct sides *s)
{
    const struct records *all = s->all;
    const json_t *newest = all->list[all->n - 1], *other = NULL;
    int rc = result_side(&s->names[1], newest);
    for (size_t i = all->n; i-- > 0;) {
        const json_t *o = all->list[i];
        const bool own = strcmp(result_text(o, "machine"), result_text(newest, "machine")) == 0;
        if (result_is_of(o, buf_text(&s->names[1])))
            continue;
        if (other == NULL ||
            (own && strcmp(result_text(other, "machine"), result_text(newest, "machine")) != 0))
            other = o;
    }
    s->n = other == NULL ? 1 : 2;
    return rc == 0 && other != NULL ? result_side(&s->names[0], other) : rc;
}

static int choose_sides(struct sides *s, const struct call *c)
{
    int rc = 0;
    if (c->n == 1)
        return choose_newest(s);
    if (c->n != 3)
        return command_usage(
            c, "history [SIDE SIDE|clear], a SIDE is a day (2026-11-23), a machine or "
               "MACHINE/DAY");
    s->n = 2;
    for (int k = 0; k < 2 && rc == 0; k++) {
        bool there = false;
        for (size_t i = 0; i < s->all->n && !there; i++)
            there = result_is_of(s->all->list[i], c->words[k + 1]);
        rc = there ? buf_str(&s->names[k], c->words[k + 1])
                   : err_set(ERR_MISSING, "no result is of the day or machine %s",
                             file_quote(c->words[k + 1]));
    }
    return rc;
}

/* All values of a side for what a record measured. */
static int pool_values(struct numbers *out, const struct sides *s, int side, const json_t *like,
                       const char *figure)
{
    int rc = 0;
    for (size_t i = 0; i < s->all->n && rc == 0; i++)
        if (result_is_of(s->all->list[i], buf_text(&s->names[side])) &&
            result_is_same(s->all->list[i], like))
            rc = result_values(out, s->all->list[i], figure);
    return rc;
}

static int put_side(struct table *t, int column, const struct numbers *v, double *median)
{
    char text[NUMBER_TEXT];
    struct stats s;
    if (v->n == 0)
        return 0;
    int rc = stats_of(&s, v->list, (int)v->n);
    *median = s.median;
    if (rc == 0)
        rc = table_cell(t, column, "%s", number_text(text, s.median, 4));
    return rc == 0 ? table_cell(t, column + 1, "%d", s.n) : rc;
}

static int put_verdict(struct table *t, const struct numbers *v, const double *medians)
{
    const int n_a = (int)v[0].n, n_b = (int)v[1].n;
    double p = 1;
    if (n_a == 0 || n_b == 0)
        return 0;
    int rc = stats_compare(&p, v[0].list, n_a, v[1].list, n_b);
    if (rc == 0 && medians[0] != 0)
        rc = table_cell(t, 6, "%+.1f %%", (medians[1] / medians[0] - 1) * 100);
    if (rc == 0)
        rc = table_cell(t, 7, p < 0.0001 ? "%.1e" : "%.4f", p);
    if (rc == 0)
        rc = table_cell(t, 8, "%s",
                        stats_least_p(n_a, n_b) > STATS_LEVEL ? "too few runs to tell"
                        : p > STATS_LEVEL                     ? "noise"
                        : medians[1] > medians[0]             ? "higher"
                        : medians[1] < medians[0]             ? "lower"
                                                              : "differs");
    return rc;
}

/* Columns 2 and 3, 4 and 5 are a side's median and number of runs; one side has the first. */
static int put_figure(struct table *t, const struct sides *s, const json_t *like,
                      const char *figure, const char *unit)
{
    struct numbers v[2] = {{0}, {0}};
    struct buf title = {0};
    double medians[2] = {0, 0};
    int rc = 0;
    for (int k = 0; k < 2 && rc == 0; k++)
        if (k == 1 || s->n == 2)
            rc = pool_values(&v[k], s, k, like, figure);
    if (rc == 0 && v[0].n + v[1].n > 0) {
        rc = table_row(t);
        if (rc == 0)
            rc = result_title(&title, like);
        if (rc == 0)
            rc = buf_printf(&title, ": %s", figure);
        if (rc == 0)
            rc = table_text(t, 0, buf_text(&title), SIZE_MAX);
        if (rc == 0)
            rc = table_text(t, 1, unit, SIZE_MAX);
        if (rc == 0)
            rc = put_side(t, 2, &v[0], &medians[0]);
        if (rc == 0)
            rc = put_side(t, s->n == 2 ? 4 : 2, &v[1], &medians[1]);
        if (rc == 0)
            rc = put_verdict(t, v, medians);
    }
    buf_release(&title);
    numbers_release(&v[0]);
    numbers_release(&v[1]);
    return rc;
}

/* A row for each figure of what both or one of the sides measured, in the order of the records. */
static int fill_table(struct table *t, const struct sides *s)
{
    int rc = 0;
    for (size_t i = 0; i < s->all->n && rc == 0; i++) {
        const json_t *o = s->all->list[i];
        const char *name;
        json_t *figure;
        bool first = true;
        for (size_t k = 0; k < i && first; k++)
            first = !result_is_same(s->all->list[k], o);
        json_object_foreach(json_object_get(first ? o : NULL, "figures"), name, figure)
        {
            if (rc == 0)
                rc = put_figure(t, s, o, name, result_text(figure, "unit"));
        }
    }
    return rc;
}

/* What a head shows of a side: of two days of one machine, the days. */
static const char *side_head(const struct sides *s, int k)
{
    const char *own = buf_text(&s->names[k]), *other = buf_text(&s->names[1 - k]);
    const char *day = strrchr(own, '/');
    const size_t n = day == NULL ? 0 : (size_t)(day + 1 - own);
    return n > 0 && strncmp(own, other, n) == 0 && strchr(other + n, '/') == NULL ? own + n : own;
}

/* What the figures are, below a table for a person. */
static void say_medians(const struct sides *s, bool named)
{
    if (s->n == 2)
        wrap_say(
            stdout, term_dim(stdout),
            "medians; p of the Mann-Whitney U test, two-sided: above %.2f a difference is noise",
            STATS_LEVEL);
    else if (!named)
        wrap_say(stdout, term_dim(stdout), "medians of %s", buf_text(&s->names[1]));
}

/* On a terminal one side is named below the table: its name is wider than its figures. */
static int print_table(const struct repl *r, const struct sides *s)
{
    const enum table_format format = (enum table_format)r->options.settings.call.format;
    const bool fits = format == TABLE_TEXT && term_is(stdout), named = s->n == 2 || !fits;
    struct buf heads[2] = {{0}, {0}}, out = {0};
    struct table t;
    enum table_fit fit;
    int rc = 0;
    for (int k = 0; k < 2 && rc == 0; k++)
        rc = term_visible(&heads[k], side_head(s, k), strlen(side_head(s, k)));
    const char *const names[COLUMNS] = {"benchmark",
                                        "unit",
                                        named ? buf_text(&heads[s->n == 2 ? 0 : 1]) : "median",
                                        "runs",
                                        buf_text(&heads[1]),
                                        "runs ",
                                        "change",
                                        "p",
                                        "verdict"};
    table_init(&t, names, s->n == 2 ? COLUMNS : COLUMNS_ALONE);
    if (rc == 0)
        rc = fill_table(&t, s);
    if (rc == 0)
        rc = fits ? table_fit(&t, s->n == 2 ? SPARE_COLUMNS : SPARE_ALONE,
                              s->n == 2 ? SIDES_AND_P : 0, term_width(stdout) - 1, &out, &fit)
                  : table_format(&t, format, &out);
    if (rc == 0)
        term_put(stdout, &out);
    if (rc == 0 && format == TABLE_TEXT)
        say_medians(s, named);
    table_release(&t);
    buf_release(&out);
    buf_release(&heads[0]);
    buf_release(&heads[1]);
    return rc;
}

/* --force says so, and at a prompt the same command once more. */
static int clear_results(struct repl *r, const struct call *c)
{
    struct records all;
    int rc = command_check_options(r, "bench history clear", "force");
    if (rc != 0 || (rc = results_read(&all)) != 0)
        return rc;
    const size_t n = all.n;
    const char *s = n == 1 ? "" : "s";
    records_release(&all);
    const bool asks = n > 0 && !r->options.settings.call.force;
    if (asks && c->shell)
        return err_set(ERR_EXISTS,
                       "this deletes %zu result%s: `prattle bench history clear --force` confirms",
                       n, s);
    if (asks && !c->shell && !unsaved_is_confirmed(r, DISCARD_BENCHMARKS))
        return err_set(ERR_EXISTS,
                       "this deletes %zu result%s; `:bench history clear` again confirms", n, s);
    if ((rc = results_clear()) == 0)
        wrap_say(stdout, term_dim(stdout), "[%zu result%s discarded]", n, s);
    return rc;
}

static int show_results(const struct repl *r, const struct call *c)
{
    struct records all;
    struct sides s = {.all = &all};
    int rc = command_check_options(r, "bench history", "format last");
    if (rc == 0)
        rc = results_read(&all);
    if (rc != 0)
        return rc;
    if (all.n_bad > 0) {
        char sentence[80];
        snprintf(sentence, sizeof sentence, "%zu line%s of the file of results %s not readable",
                 all.n_bad, all.n_bad == 1 ? "" : "s", all.n_bad == 1 ? "is" : "are");
        progress_warn(sentence);
    }
    if (r->options.settings.call.last > 0)
        records_keep_newest(&all, (size_t)r->options.settings.call.last);
    const int format = r->options.settings.call.format;
    if (all.n == 0 && format == TABLE_JSON) {
        puts("[]");
    } else if (all.n == 0 && format != TABLE_TEXT) {
        progress_warn("there are no results yet");
    } else if (all.n == 0) {
        wrap_say(stdout, term_dim(stdout),
                 "no results yet: those of a SPEC.yaml are kept, as of `%s languini.yaml`",
                 c->shell ? "prattle bench" : ":bench");
    } else {
        rc = choose_sides(&s, c);
        if (rc == 0)
            rc = print_table(r, &s);
    }
    buf_release(&s.names[0]);
    buf_release(&s.names[1]);
    records_release(&all);
    return rc;
}

int bench_use_history(struct repl *r, const struct call *c)
{
    return c->n == 2 && strcmp(c->words[1], "clear") == 0 ? clear_results(r, c)
                                                          : show_results(r, c);
}
