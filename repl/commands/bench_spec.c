/* Benchmarks by name: run, shown, drawn and kept. */
#include "repl/commands/bench_spec.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/bench/results.h"
#include "repl/bench/spec_run.h"
#include "repl/bench/spec_texts.h"
#include "repl/bench/stats.h"
#include "repl/session/repl.h"
#include "repl/terminal/number.h"
#include "repl/terminal/plot.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/table_fit.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPEC_BYTES_MAX = 1 << 20, CURVES_MAX = 16 };
enum {
    SPARE_COLUMNS = 1 << 4 | 1 << 6 | 1 << 7, /* mean, min, max */
    MORE_COLUMNS = 1 << 5 | 1 << 8            /* deviation, runs */
};

struct spec_request {
    const char *path;
    char *picture; /* NULL: none in a file; owned */
    int repeats;
    const struct spec_entry **chosen; /* [n] */
    int n, n_failed;
    json_t *records;                             /* a list of what was measured */
    struct spec_setting settings[SPEC_SETTINGS]; /* [n_settings] */
    int n_settings;
};

bool bench_is_spec(const char *word)
{
    return text_ends_in(word, ".yaml") || text_ends_in(word, ".yml");
}

static int take_words(struct spec_request *q, const struct spec *s, const struct call *c)
{
    char more;
    for (int i = 1; i < c->n; i++) {
        const char *word = c->words[i];
        const struct spec_entry *e = spec_find(s, word);
        if (e != NULL && q->n < s->n) {
            q->chosen[q->n++] = e;
        } else if (e != NULL) {
            continue; /* named more often than there are benchmarks */
        } else if (text_ends_in(word, ".svg") || text_ends_in(word, ".png")) {
            mem_free(q->picture);
            if ((q->picture = file_expand(word)) == NULL)
                return ERR_NOMEM;
        } else if (strncmp(word, "repeats=", 8) == 0) {
            if (strlen(word) > 16 || sscanf(word + 8, "%d%c", &q->repeats, &more) != 1 ||
                q->repeats < 1 || q->repeats > SPEC_REPEATS)
                return err_set(ERR_RANGE, "repeats must be a whole number, 1 to %d, not %s",
                               SPEC_REPEATS, file_quote(word + 8));
        } else {
            struct buf names = {0};
            int rc = 0;
            for (int k = 0; k < s->n && k < 20 && rc == 0; k++)
                rc = buf_printf(&names, "%s%s", k > 0 ? ", " : "", s->entries[k].name);
            rc = err_set(ERR_MISSING, "there is no benchmark %s; the specification has %s%s",
                         file_quote(word), buf_text(&names), s->n > 20 ? ", ..." : "");
            buf_release(&names);
            return rc;
        }
    }
    for (int i = 0; q->n == 0 && i < s->n; i++)
        q->chosen[i] = &s->entries[i];
    q->n = q->n == 0 ? s->n : q->n;
    return 0;
}

/* ---- the table ---- */

static int put_row(struct table *t, const json_t *record, const char *title, const char *name,
                   const json_t *figure)
{
    char text[NUMBER_TEXT];
    struct numbers values = {0};
    struct stats s;
    int rc = result_values(&values, record, name);
    if (rc == 0)
        rc = stats_of(&s, values.list, (int)values.n);
    if (rc == 0 && (rc = table_row(t)) == 0)
        rc = table_cell(t, 0, "%s", title);
    if (rc == 0)
        rc = table_cell(t, 1, "%s", name);
    if (rc == 0)
        rc = table_cell(t, 2, "%s", number_text(text, s.median, 4));
    if (rc == 0)
        rc = table_text(t, 3, result_text(figure, "unit"), SIZE_MAX);
    if (rc == 0)
        rc = table_cell(t, 4, "%s", number_text(text, s.mean, 4));
    if (rc == 0)
        rc = table_cell(t, 5, "%s", number_text(text, s.deviation, 3));
    if (rc == 0)
        rc = table_cell(t, 6, "%s", number_text(text, s.low, 4));
    if (rc == 0)
        rc = table_cell(t, 7, "%s", number_text(text, s.high, 4));
    if (rc == 0)
        rc = table_cell(t, 8, "%d", s.n);
    numbers_release(&values);
    return rc;
}

static int put_record(struct table *t, const json_t *record)
{
    struct buf title = {0}, shown = {0};
    const char *name;
    json_t *figure;
    int rc = result_title(&title, record);
    if (rc == 0)
        rc = term_visible(&shown, buf_text(&title), title.n);
    json_object_foreach(json_object_get(record, "figures"), name, figure)
    {
        if (rc == 0)
            rc = put_row(t, record, buf_text(&shown), name, figure);
    }
    buf_release(&title);
    buf_release(&shown);
    return rc;
}

static int print_results(const struct spec_request *q, enum table_format format)
{
    static const char *const heads[] = {"benchmark", "figure", "median", "unit", "mean",
                                        "deviation", "min",    "max",    "runs"};
    struct table t;
    struct buf out = {0};
    enum table_fit fit = TABLE_WHOLE;
    int rc = 0;
    table_init(&t, heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < json_array_size(q->records) && rc == 0; i++)
        rc = put_record(&t, json_array_get(q->records, i));
    if (rc == 0)
        rc = format == TABLE_TEXT && term_is(stdout)
                 ? table_fit(&t, SPARE_COLUMNS, MORE_COLUMNS, term_width(stdout) - 1, &out, &fit)
                 : table_format(&t, format, &out);
    if (rc == 0)
        fwrite(buf_text(&out), 1, out.n, stdout);
    if (rc == 0 && fit != TABLE_WHOLE)
        wrap_say(stdout, term_dim(stdout), "wider terminals and `--format csv` also show %s",
                 fit == TABLE_LESS_SPARE ? "mean, min and max" : "the other columns");
    buf_release(&out);
    table_release(&t);
    return rc;
}

/* ---- the picture ---- */

static int compare_points(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* A curve of one benchmark with all parameters but `over` as in the record `like`. */
static bool is_of_curve(const json_t *record, const json_t *like, const char *over)
{
    const char *name;
    json_t *value;
    if (strcmp(result_text(record, "benchmark"), result_text(like, "benchmark")) != 0)
        return false;
    json_object_foreach(json_object_get(like, "parameters"), name, value)
    {
        if (strcmp(name, over) != 0 &&
            !json_equal(value, json_object_get(json_object_get(record, "parameters"), name)))
            return false;
    }
    return true;
}

static int name_curve(char **out, const json_t *like, const char *over, const char *figure)
{
    struct buf name = {0};
    const char *key;
    json_t *value;
    int rc = buf_str(&name, figure);
    json_object_foreach(json_object_get(like, "parameters"), key, value)
    {
        if (rc == 0 && strcmp(key, over) != 0)
            rc = buf_printf(&name, " %s=", key);
        if (rc == 0 && strcmp(key, over) != 0)
            rc = term_visible(&name, json_string_value(value), json_string_length(value));
    }
    *out = rc == 0 ? mem_strdup(buf_text(&name)) : NULL;
    buf_release(&name);
    return *out == NULL ? ERR_NOMEM : 0;
}

/* The medians of a figure over the numbers of the parameter. */
static int make_curve(struct plot_series *s, json_t *records, const json_t *like, const char *over,
                      const char *figure)
{
    const size_t n = json_array_size(records);
    double(*points)[2] = mem_array(n, sizeof *points);
    char *name = NULL, more;
    int rc = points == NULL ? ERR_NOMEM : name_curve(&name, like, over, figure);
    s->n = 0;
    s->name = name;
    s->x = mem_array(n, sizeof *s->x);
    s->y = mem_array(n, sizeof *s->y);
    if (s->x == NULL || s->y == NULL)
        rc = ERR_NOMEM;
    for (size_t i = 0; i < n && rc == 0; i++) {
        const json_t *record = json_array_get(records, i);
        const char *x = result_text(json_object_get(record, "parameters"), over);
        struct numbers values = {0};
        struct stats stats;
        if (!is_of_curve(record, like, over) || sscanf(x, "%lf%c", &points[s->n][0], &more) != 1)
            continue;
        rc = result_values(&values, record, figure);
        if (rc == 0 && (rc = stats_of(&stats, values.list, (int)values.n)) == 0)
            points[s->n++][1] = stats.median;
        numbers_release(&values);
    }
    if (rc == 0)
        qsort(points, (size_t)s->n, sizeof *points, compare_points);
    for (int i = 0; i < s->n && rc == 0; i++) {
        s->x[i] = points[i][0];
        s->y[i] = points[i][1];
    }
    mem_free(points);
    return rc;
}

static int show_picture(const struct repl *r, const struct spec_request *q,
                        struct plot_series *series, int n, const char *over)
{
    struct buf picture = {0};
    const int width = term_width(stdout) - 1;
    int rc;
    if (q->picture != NULL) {
        rc = plot_write(q->picture, r->options.settings.call.force, series, n, over);
        if (rc == 0)
            wrap_wrote(q->picture, "");
        return rc;
    }
    rc = plot_draw(&picture, series, n, over, width, plot_frame_rows(1, width, term_height(stdout)),
                   term_utf8());
    if (rc == 0)
        fwrite(buf_text(&picture), 1, picture.n, stdout);
    buf_release(&picture);
    return rc;
}

/* The first figure of a benchmark over its parameter `plot`. */
static int draw_entry(const struct repl *r, const struct spec_request *q,
                      const struct spec_entry *e)
{
    struct plot_series series[CURVES_MAX] = {{0}};
    const char *figure = NULL;
    int n = 0, rc = 0, points = 0;
    for (int i = e->n_figures - 1; i >= 0; i--)
        figure = e->figures[i].shown ? e->figures[i].name : figure;
    for (size_t i = 0; i < json_array_size(q->records) && n < CURVES_MAX && rc == 0; i++) {
        const json_t *like = json_array_get(q->records, i);
        bool first = strcmp(result_text(like, "benchmark"), e->name) == 0;
        for (size_t k = 0; k < i && first; k++)
            first = !is_of_curve(json_array_get(q->records, k), like, e->plot);
        if (first) {
            series[n].y_name = figure;
            series[n].color = term_curve(stdout, n);
            rc = make_curve(&series[n++], q->records, like, e->plot, figure);
            points = series[n - 1].n > points ? series[n - 1].n : points;
        }
    }
    if (rc == 0 && points > 1)
        rc = show_picture(r, q, series, n, e->plot);
    else if (rc == 0 && q->picture != NULL)
        rc = err_set(ERR_RANGE, "no picture: fewer than 2 values of %s have a result", e->plot);
    for (int i = 0; i < n; i++) {
        mem_free((char *)(uintptr_t)series[i].name);
        mem_free(series[i].x);
        mem_free(series[i].y);
    }
    return rc;
}

static int draw_results(const struct repl *r, const struct spec_request *q)
{
    int rc = 0;
    for (int i = 0; i < q->n && rc == 0; i++)
        if (q->chosen[i]->plot != NULL)
            rc = draw_entry(r, q, q->chosen[i]);
    return rc;
}

/* Before hours of measuring: that there is one picture, and that its file can be written. */
static int check_picture(const struct repl *r, const struct spec_request *q)
{
    struct file_writer w = {.fd = -1};
    int n_drawn = 0, rc;
    for (int i = 0; i < q->n; i++)
        n_drawn += q->chosen[i]->plot != NULL;
    if (n_drawn == 0)
        return err_set(ERR_RANGE, "none of the benchmarks has a plot, which a file is for");
    if (n_drawn != 1)
        return err_set(ERR_RANGE, "%d of the benchmarks have a plot, and a file takes one: name it",
                       n_drawn);
    rc = file_create(&w, q->picture, r->options.settings.call.force);
    file_abandon(&w);
    return rc;
}

/* ---- the run ---- */

/* What the user has said of the machine and of precisions; "auto" says nothing. */
static int take_settings(struct spec_request *q, const struct repl *r)
{
    const struct setting *const rows[] = {OPTION(device.dtype),   OPTION(device.cache_dtype),
                                          OPTION(device.threads), OPTION(device.pin),
                                          OPTION(device.kernels), OPTION(device.memory),
                                          OPTION(device.phased)};
    _Static_assert(sizeof rows / sizeof *rows <= SPEC_SETTINGS, "one place for each");
    int rc = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && rc == 0; i++) {
        struct spec_setting *s = &q->settings[q->n_settings];
        if (settings_store_origin(&r->options.store, rows[i]) == ORIGIN_BUILT_IN)
            continue;
        *s = (struct spec_setting){.row = rows[i]};
        rc = setting_format(rows[i], &r->options.settings, &s->value);
        if (rc == 0 && strcmp(buf_text(&s->value), "auto") != 0)
            q->n_settings++;
        else
            buf_release(&s->value);
    }
    return rc;
}

/* What fails is said, and the others are still measured: one size may not fit into memory. */
static int run_entry(struct spec_request *q, const struct repl *r, const struct spec_entry *e)
{
    const char *model = r->model != NULL ? r->model->source : r->options.settings.device.model;
    char label[96];
    const struct spec_run how = {.path = q->path,
                                 .model = model,
                                 .settings = q->settings,
                                 .n_settings = q->n_settings,
                                 .repeats = q->repeats,
                                 .label = label,
                                 .progress = progress_show()};
    int rc = 0;
    for (size_t i = 0; i < json_array_size(e->variants) && rc == 0; i++) {
        json_t *record = NULL;
        snprintf(label, sizeof label, "%s, %zu/%zu", e->name, i + 1, json_array_size(e->variants));
        rc = spec_run(&record, &how, e, json_array_get(e->variants, i));
        progress_wipe();
        if (record != NULL) {
            /* That it cannot be kept is no reason to lose it. */
            if (r->options.settings.talk.keep_results && results_add(record) != 0)
                progress_warn(err_text());
            json_array_append_new(q->records, record);
        } else if (rc != ERR_INTERRUPTED && rc != ERR_NOMEM) {
            err_wrap("%s", file_quote(e->name));
            progress_warn(err_text());
            q->n_failed++;
            rc = 0;
        }
        if (rc == ERR_INTERRUPTED)
            err_set(ERR_INTERRUPTED, "interrupted");
    }
    return rc;
}

static int run_chosen(struct repl *r, struct spec_request *q)
{
    const enum table_format format = (enum table_format)r->options.settings.call.format;
    int rc = (q->records = json_array()) == NULL ? err_set(ERR_NOMEM, "no memory for results") : 0;
    for (int i = 0; i < q->n && rc == 0; i++)
        rc = run_entry(q, r, q->chosen[i]);
    const bool listed = rc == 0 && format != TABLE_TEXT; /* an empty list too */
    if (listed || json_array_size(q->records) > 0) {     /* after an interrupt too: what there is */
        const int code = rc;
        struct err_kept why;
        err_keep(&why);
        rc = print_results(q, format);
        if (rc == 0 && (q->picture != NULL || (format == TABLE_TEXT && term_is(stdout))))
            rc = draw_results(r, q);
        if (code != 0)
            rc = err_restore(&why);
    }
    if (rc == 0 && q->n_failed > 0)
        rc = err_set(ERR_IO, "%d measurement%s failed", q->n_failed, q->n_failed == 1 ? "" : "s");
    json_decref(q->records);
    return rc;
}

/* A file, or where there is none of that name one that the program brings. */
static int read_spec_text(struct buf *text, const char *path)
{
    struct buf names = {0};
    int rc = 0;
    for (int i = 0; spec_texts[i].name != NULL && !file_exists(path); i++)
        if (strcmp(spec_texts[i].name, path) == 0)
            return buf_str(text, spec_texts[i].text);
    if (file_exists(path))
        return file_read_all(text, path, SPEC_BYTES_MAX);
    for (int i = 0; spec_texts[i].name != NULL && rc == 0; i++)
        rc = buf_printf(&names, "%s%s", i > 0 ? ", " : "", spec_texts[i].name);
    rc = err_set(ERR_MISSING, "there is no file %s; the program itself has %s", file_quote(path),
                 buf_text(&names));
    buf_release(&names);
    return rc;
}

int bench_use_spec(struct repl *r, const struct call *c)
{
    struct spec_request q = {.path = c->words[0]};
    struct buf text = {0};
    struct spec s = {0};
    char *path = file_expand(c->words[0]), label[128];
    int rc = path == NULL ? ERR_NOMEM : read_spec_text(&text, path);
    if (rc == 0)
        rc = spec_read(&s, file_show(label, sizeof label, c->words[0]), buf_text(&text), text.n);
    if (rc == 0 && (q.chosen = mem_array((size_t)s.n, sizeof *q.chosen)) == NULL)
        rc = ERR_NOMEM;
    if (rc == 0) {
        q.path = path;
        rc = take_words(&q, &s, c);
    }
    if (rc == 0 && q.picture != NULL)
        rc = check_picture(r, &q);
    if (rc == 0)
        rc = take_settings(&q, r);
    if (rc == 0)
        rc = repl_device(r); /* a record has its threads */
    if (rc == 0)
        rc = run_chosen(r, &q);
    for (int i = 0; i < q.n_settings; i++)
        buf_release(&q.settings[i].value);
    mem_free(q.chosen);
    mem_free(q.picture);
    spec_release(&s);
    buf_release(&text);
    mem_free(path);
    return rc;
}
