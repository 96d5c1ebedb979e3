/*
 * :plot: the curves of one run or several from their metrics.jsonl, on the screen or in a file.
 */
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "repl/commands/commands.h"
#include "repl/terminal/plot.h"
#include "repl/session/repl.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/config/run_config.h"
#include "train/run/folder.h"

#include <math.h>
#include <string.h>

enum { MAX_CURVES = 8 /* of all runs */ };

/* The first unless another is named. */
static const char *const axes[] = {"over=step", "over=tokens", "over=hours", "over=machine_hours",
                                   "over=epoch"};
/* Some of what a run's metrics have; any other may be named too. */
static const char *const curves[] = {"loss",         "validation_loss", "learning_rate",
                                     "grad_norm",    "accuracy",        "validation_accuracy",
                                     "tokens_per_s", "samples_per_s",   "skipped",
                                     "loss_scale"};
/* As a line of training and other programs have them. */
static const char *const short_names[][2] = {{"lr", "learning_rate"},
                                             {"rate", "learning_rate"},
                                             {"norm", "grad_norm"},
                                             {"val_loss", "validation_loss"},
                                             {"valid_loss", "validation_loss"},
                                             {"tokens/s", "tokens_per_s"},
                                             {"samples/s", "samples_per_s"}};
enum { AXIS_NAME = sizeof "over=" - 1 };

const char *cmd_plot_word(int i)
{
    const int n_curves = sizeof curves / sizeof *curves, n_axes = sizeof axes / sizeof *axes;
    return i < n_curves ? curves[i] : i - n_curves + 1 < n_axes ? axes[i - n_curves + 1] : NULL;
}

/* A curve of a run. */
struct curve {
    struct plot_series series;
    const char *name; /* in the run's metrics */
    int run;
    char *label; /* owned; NULL: the name, there being one run */
};

struct request {
    const char *names[MAX_CURVES]; /* asked for, of each run */
    int n_names;
    const char *folders[MAX_CURVES]; /* of the runs */
    int n_runs;
    struct curve curves[MAX_CURVES];
    int n_curves;
    const char *over, *out;
    char *paths[MAX_CURVES + 1]; /* of these and the folders, `~` expanded; owned */
    int n_paths;
    json_t *found; /* an object of the names that have numbers in the runs' files */
};

static const char *find_name(const char *const *names, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], word) == 0)
            return names[i];
    return NULL;
}

static const char *full_name(const char *word)
{
    for (size_t i = 0; i < sizeof short_names / sizeof *short_names; i++)
        if (strcmp(short_names[i][0], word) == 0)
            return short_names[i][1];
    return word;
}

static bool is_run_folder(const char *path)
{
    char *metrics = file_join(path, "metrics.jsonl");
    bool is = metrics != NULL && file_exists(metrics);
    mem_free(metrics);
    return is;
}

/* Takes path. */
static int take_path(struct request *q, char *path, bool picture)
{
    int rc = 0;
    if (picture && q->out != NULL)
        rc = err_set(ERR_RANGE, "one picture at a time, not %s and %s", file_quote(q->out),
                     file_quote(path));
    else if (!picture && q->n_runs == MAX_CURVES)
        rc = err_set(ERR_RANGE, "at most %d runs in one picture", MAX_CURVES);
    if (rc != 0) {
        mem_free(path);
        return rc;
    }
    q->paths[q->n_paths++] = path;
    if (picture)
        q->out = path;
    else
        q->folders[q->n_runs++] = path;
    return 0;
}

static int take_over(struct request *q, const char *word)
{
    const char *axis = find_name(axes, sizeof axes / sizeof *axes, word);
    if (axis == NULL)
        return err_set(ERR_RANGE,
                       "over must be step, tokens, hours, machine_hours or epoch, not %s",
                       file_quote(word + AXIS_NAME));
    q->over = axis + AXIS_NAME;
    return 0;
}

/* A curve may have any name; one with an ending is meant as a file. more: what there is. */
static int refuse_word(const char *word, const char *more)
{
    const char *dot = strrchr(word, '.'), *slash = strrchr(word, '/');
    if (dot != NULL && dot > word && dot[-1] != '/' && (slash == NULL || dot > slash))
        more = "; a picture is FILE.svg or FILE.png";
    return err_set(ERR_MISSING, "no curve, picture or run's folder %s%s", file_quote(word), more);
}

/* A curve may have any name: what the run has is known when it was read. */
static int take_word(struct request *q, const char *word)
{
    if (strncmp(word, axes[0], AXIS_NAME) == 0)
        return take_over(q, word);
    word = full_name(word);
    bool picture = text_ends_in(word, ".svg") || text_ends_in(word, ".png");
    char *path = file_expand(word);
    if (path == NULL)
        return ERR_NOMEM;
    const bool far = strchr(path, '/') != NULL;
    if (picture || is_run_folder(path) || (far && file_is_folder(path)))
        return take_path(q, path, picture);
    mem_free(path);
    if (far)
        return refuse_word(word, "");
    if (q->n_names == MAX_CURVES)
        return err_set(ERR_RANGE, "at most %d curves in one picture", MAX_CURVES);
    q->names[q->n_names++] = word;
    return 0;
}

/* loss and validation_loss have one. */
static const char *curve_axis(const struct curve *c)
{
    static const char part[] = "validation_";
    const size_t n = sizeof part - 1;
    return strncmp(c->name, part, n) == 0 ? c->name + n : c->name;
}

/* What a picture in a file has beside that axis. */
static const char *axis_title(const struct curve *c)
{
    const char *name = curve_axis(c);
    return strcmp(name, "loss") == 0 ? "loss per token" : name;
}

static bool same_axis(const struct curve *a, const struct curve *b)
{
    return strcmp(curve_axis(a), curve_axis(b)) == 0;
}

static int add_point(struct plot_series *s, double x, double y)
{
    size_t old = (size_t)s->n * sizeof(double);
    if ((s->n & (s->n - 1)) == 0) { /* room doubles at each power of two */
        size_t room = (s->n == 0 ? 1 : 2 * (size_t)s->n) * sizeof(double);
        double *xs = mem_grow(s->x, old, room), *ys = xs == NULL ? NULL : mem_grow(s->y, old, room);
        s->x = xs == NULL ? s->x : xs;
        s->y = ys == NULL ? s->y : ys;
        if (xs == NULL || ys == NULL)
            return ERR_NOMEM;
    }
    s->x[s->n] = x;
    s->y[s->n++] = y;
    return 0;
}

static int read_metrics_line(struct request *q, int run, const char *line, size_t n)
{
    json_t *o, *value;
    const char *name;
    int rc = json_read_line(&o, line, n);
    if (rc != 0)
        return rc;
    json_object_foreach(o, name, value)
    {
        if (json_is_number(value) && json_object_get(q->found, name) == NULL)
            json_object_set_new(q->found, name, json_true());
    }
    const json_t *x = json_object_get(o, q->over);
    for (int i = 0; i < q->n_curves && json_is_number(x) && rc == 0; i++) {
        const json_t *y = json_object_get(o, q->curves[i].name);
        if (json_is_number(y) && q->curves[i].run == run)
            rc = add_point(&q->curves[i].series, json_number_value(x), json_number_value(y));
    }
    json_decref(o);
    return rc;
}

static int read_metrics(struct request *q, int run)
{
    struct buf text = {0};
    char *path = file_join(q->folders[run], "metrics.jsonl");
    char shown[200];
    int rc = path == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && !file_exists(path))
        rc = err_set(ERR_MISSING,
                     "the run in %s has no metrics.jsonl: no step has ended yet, or it was deleted",
                     file_show(shown, sizeof shown, q->folders[run]));
    if (rc == 0)
        rc = file_read_all(&text, path, 1 << 30);
    for (char *line = text.data, *end; rc == 0 && line != NULL && *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        if (end == NULL) /* being written just now */
            break;
        if ((rc = read_metrics_line(q, run, line, (size_t)(end - line))) != 0)
            file_wrap(path);
    }
    buf_release(&text);
    mem_free(path);
    return rc;
}

/* A file without figures has nothing to plot, which plot_draw says. */
static bool has_curve(const struct request *q, const char *name)
{
    return json_object_size(q->found) == 0 || json_object_get(q->found, name) != NULL;
}

/* A name that is none of the run's curves: the nearest, or all that there are. */
static int refuse_curve(const struct request *q, const char *named, const char *all)
{
    enum { MOST = 64 };
    const char *names[MOST], *name;
    json_t *value;
    size_t n = 0;
    json_object_foreach(q->found, name, value)
    {
        if (n < MOST)
            names[n++] = name;
    }
    if (find_name(curves, sizeof curves / sizeof *curves, named) != NULL)
        return q->n_runs > 1 ? err_set(ERR_MISSING, "the runs have no %s; there is %s", named, all)
                             : err_set(ERR_MISSING, "the run has no %s; it has %s", named, all);
    const char *near = words_nearest(named, names, n);
    if (near != NULL)
        return err_set(ERR_MISSING, "no curve, picture or run's folder %s; did you mean %s?",
                       file_quote(named), near);
    char *more = mem_sprintf("; the run%s %s", q->n_runs > 1 ? "s have" : " has", all);
    const int rc = more == NULL ? ERR_NOMEM : refuse_word(named, more);
    mem_free(more);
    return rc;
}

/* Whether what was asked for is in the run's file. */
static int check_curve_names(const struct request *q)
{
    struct buf names = {0};
    const char *name;
    json_t *value;
    int i = 0, rc = 0;
    while (i < q->n_names && has_curve(q, q->names[i]))
        i++;
    if (i == q->n_names && has_curve(q, q->over))
        return 0;
    json_object_foreach(q->found, name, value)
    {
        if (rc == 0)
            rc = buf_printf(&names, "%s%s", names.n > 0 ? ", " : "", name);
    }
    if (rc == 0 && i < q->n_names)
        rc = refuse_curve(q, q->names[i], buf_text(&names));
    else if (rc == 0)
        rc = err_set(ERR_MISSING, "the run%s no %s to plot over; %s %s",
                     q->n_runs > 1 ? "s have" : " has", q->over,
                     q->n_runs > 1 ? "there is" : "it has", buf_text(&names));
    buf_release(&names);
    return rc;
}

static void release_curve(struct curve *c)
{
    mem_free(c->series.x);
    mem_free(c->series.y);
    mem_free(c->label);
}

/* Without points a curve is not drawn: a run may have no validation. */
static void drop_empty_curves(struct request *q)
{
    int kept = 0;
    for (int i = 0; i < q->n_curves; i++)
        if (q->curves[i].series.n > 0)
            q->curves[kept++] = q->curves[i];
        else
            release_curve(&q->curves[i]);
    q->n_curves = kept;
}

/* The last part of its folder, or where another's is the same all of it. */
static const char *run_name(const struct request *q, int run)
{
    const char *folder = q->folders[run], *slash = strrchr(folder, '/');
    const char *name = slash == NULL || slash[1] == '\0' ? folder : slash + 1;
    for (int i = 0; i < q->n_runs; i++)
        if (i != run && text_ends_in(q->folders[i], name))
            return folder;
    return name;
}

/* The curves of a name beside each other, run by run. */
static int list_curves(struct request *q)
{
    static const char *const usual[] = {"loss", "validation_loss"};
    const bool named = q->n_names > 0;
    const char *const *names = named ? q->names : usual;
    int n = named ? q->n_names : q->n_runs > MAX_CURVES / 2 ? 1 : 2;
    char shown[80];
    if (n * q->n_runs > MAX_CURVES)
        return err_set(ERR_RANGE, "at most %d curves in one picture, not %d of each of %d runs",
                       MAX_CURVES, n, q->n_runs);
    for (int k = 0; k < n * q->n_runs; k++) {
        struct curve *c = &q->curves[q->n_curves++];
        *c = (struct curve){.name = names[k / q->n_runs], .run = k % q->n_runs};
        c->series.name = c->name;
        if (q->n_runs == 1)
            continue;
        c->label =
            mem_sprintf("%s %s", file_show(shown, sizeof shown, run_name(q, c->run)), c->name);
        if (c->label == NULL)
            return ERR_NOMEM;
        c->series.name = c->label;
    }
    return 0;
}

/* Those that were named; else the run in memory, the session's last one, or that of RUNS_FOLDER
 * which was written to last, kept in *latest. */
static int find_runs(const struct repl *r, struct request *q, char **latest)
{
    char shown[256];
    for (int i = 0; i < q->n_runs; i++)
        if (!is_run_folder(q->folders[i]))
            return run_folder_explain(
                err_set(ERR_MISSING, "no run in %s", file_quote(q->folders[i])), q->folders[i]);
    if (q->n_runs > 0)
        return 0;
    if (r->run != NULL) {
        q->folders[q->n_runs++] = run_path(r->run);
        return 0;
    }
    const bool none = repl_latest_run(r, false, latest) != 0;
    for (int i = 0; i < q->n_names && none; i++)
        if (find_name(curves, sizeof curves / sizeof *curves, q->names[i]) == NULL)
            return err_set(ERR_MISSING, "there is no run's folder %s; `:plot loss FOLDER`",
                           file_quote(q->names[i]));
    if (none)
        return err_set(ERR_MISSING, "no run in this session, and " RUNS_FOLDER
                                    " has none with a checkpoint; `:plot loss FOLDER` names one");
    q->folders[q->n_runs++] = *latest;
    if (q->out == NULL)
        printf("%s[%s]%s\n", term_dim(stdout), file_show(shown, sizeof shown, *latest),
               term_plain(stdout));
    return 0;
}

/* Curves with an axis in common side by side, in the order in which they were named; how many
 * frames that makes. */
static int arrange_frames(struct request *q, struct plot_series sorted[MAX_CURVES])
{
    int n = 0, n_frames = 0;
    for (int i = 0; i < q->n_curves; i++) {
        const int begin = n;
        bool first = true;
        for (int k = 0; k < i; k++)
            first &= !same_axis(&q->curves[k], &q->curves[i]);
        for (int k = i; k < q->n_curves && first; k++)
            if (same_axis(&q->curves[k], &q->curves[i])) {
                sorted[n] = q->curves[k].series;
                sorted[n].y_name = axis_title(&q->curves[k]);
                sorted[n].color = term_curve(stdout, n - begin);
                sorted[n++].frame = n_frames;
            }
        n_frames += first;
    }
    return n_frames;
}

/* On the screen, or in the file that was named. */
static int draw(const struct repl *r, struct request *q)
{
    struct plot_series sorted[MAX_CURVES];
    struct buf picture = {0};
    const int n_frames = arrange_frames(q, sorted), width = term_width(stdout) - 1;
    int rc;
    if (q->out != NULL) {
        rc = plot_write(q->out, r->options.settings.call.force, sorted, q->n_curves, q->over);
        if (rc == 0)
            wrap_wrote(q->out, "");
        return rc;
    }
    rc = plot_draw(&picture, sorted, q->n_curves, q->over, width,
                   plot_frame_rows(n_frames, width, term_height(stdout)), term_utf8());
    if (rc == 0)
        fwrite(buf_text(&picture), 1, picture.n, stdout);
    buf_release(&picture);
    return rc;
}

int cmd_plot(struct repl *r, const struct call *c)
{
    struct request q = {.over = axes[0] + AXIS_NAME, .found = json_object()};
    char *latest = NULL;
    int rc = q.found == NULL ? err_set(ERR_NOMEM, "no memory for the names of curves") : 0;
    for (int i = 0; i < c->n && rc == 0; i++)
        rc = take_word(&q, c->words[i]);
    if (rc == 0)
        rc = find_runs(r, &q, &latest);
    if (rc == 0)
        rc = list_curves(&q);
    for (int i = 0; i < q.n_runs && rc == 0; i++)
        rc = read_metrics(&q, i);
    if (rc == 0)
        rc = check_curve_names(&q);
    drop_empty_curves(&q);
    if (rc == 0)
        rc = draw(r, &q);
    for (int i = 0; i < q.n_curves; i++)
        release_curve(&q.curves[i]);
    for (int i = 0; i < q.n_paths; i++)
        mem_free(q.paths[i]);
    mem_free(latest);
    json_decref(q.found);
    return rc;
}
