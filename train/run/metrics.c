/*
 * metrics.jsonl is only ever appended to, a line in one write, and a line goes out after its
 * scalars are flushed to the event file: a step whose line is there has all of it. Half a line at
 * the end, of a trainer that was killed, is no line for those who read.
 *
 * A run that resumes from step `from` drops the lines of later steps in two halves, so that a
 * resume that fails leaves the folder as it was:
 *
 *   metrics_open    the lines to keep go to a temporary file, if any line is to be dropped
 *   metrics_start   that file takes the place of metrics.jsonl, and an event file begins
 */
#include "train/run/metrics.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "train/run/tfevents.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

enum { COPY_BYTES = 1 << 16 };

/* Of training, by the clock. */
static double hours_at(const struct metrics *m, double steps)
{
    return m->hours + (steps - (double)m->step) * m->step_s / 3600;
}

double metrics_left_s(const struct metrics *m, double steps)
{
    double by_steps = INFINITY, by_clock = INFINITY;
    if (m->finished) /* also before its time */
        return 0;
    if (m->n_steps > 0 && m->step_s > 0)
        by_steps = ((double)m->n_steps - steps) * m->step_s;
    if (m->end_hours > 0)
        by_clock = (m->end_hours - hours_at(m, steps)) * 3600;
    double left = fmin(by_steps, by_clock);
    bool known = isfinite(left) && (m->n_steps == 0 || m->step_s > 0);
    return known ? fmax(0, left) : -1;
}

double metrics_done(const struct metrics *m, double steps)
{
    double done = -1;
    if (m->n_steps > 0)
        done = steps / (double)m->n_steps;
    if (m->end_hours > 0)
        done = fmax(done, hours_at(m, steps) / m->end_hours);
    return fmin(done, 1);
}

struct metrics_log {
    char *folder, *path, *label;
    struct tfevents *events; /* NULL: none */
    int64_t from;
    bool copies;                /* those lines are another run's, and get this label */
    struct file_writer rewrite; /* the lines to keep, if some are dropped; fd -1: none is */
};

/* Whether a line of the file is of a step up to `last`; what is no such line goes. ERR_NOMEM says
 * nothing of the line. */
static int check_line(bool *keep, const char *line, size_t n, int64_t last)
{
    json_t *o = NULL;
    int64_t step = INT64_MAX;
    int rc = json_read_line(&o, line, n);
    *keep = rc == 0 && json_is_object(o) && json_take_int(o, "step", 0, INT64_MAX, &step) == 0 &&
            step <= last;
    if (o != NULL)
        json_decref(o);
    return rc == ERR_NOMEM ? rc : 0;
}

static int print_line(struct buf *line, const json_t *o)
{
    const int rc = json_print(line, o, JSON_COMPACT | JSON_REAL_PRECISION(9));
    return rc == 0 ? buf_char(line, '\n') : rc;
}

/* Begins the file for the place of metrics.jsonl, with the lines before `end`, which all stay. */
static int begin_rewrite(struct metrics_log *l, const struct file *f, uint64_t end)
{
    char block[COPY_BYTES];
    int rc = file_create(&l->rewrite, l->path, true);
    for (uint64_t at = 0; at < end && rc == 0;) {
        const size_t n = end - at < sizeof block ? (size_t)(end - at) : sizeof block;
        if ((rc = file_read_at(f, block, at, n)) == 0)
            rc = file_write(&l->rewrite, block, n);
        at += n;
    }
    return rc;
}

static int write_kept(struct metrics_log *l, const char *line, size_t n)
{
    json_t *o = NULL;
    struct buf text = {0};
    if (!l->copies)
        return file_write(&l->rewrite, line, n);
    int rc = json_read_line(&o, line, n);
    if (rc == 0 && json_object_get(o, "label") != NULL &&
        json_object_set_new(o, "label", json_string(l->label)) != 0)
        rc = err_set(ERR_NOMEM, "no memory for a line of %s", l->path);
    if (rc == 0)
        rc = print_line(&text, o);
    if (rc == 0)
        rc = file_write(&l->rewrite, text.data, text.n);
    buf_release(&text);
    json_decref(o);
    return rc;
}

/* The line [n] that begins at `at`; the last one may be half a line. */
static int cut_line(struct metrics_log *l, const struct file *f, uint64_t at, const char *line,
                    size_t n)
{
    bool stays = false;
    int rc = line[n - 1] == '\n' ? check_line(&stays, line, n, l->from) : 0;
    if (rc == 0 && !stays && l->rewrite.fd < 0)
        rc = begin_rewrite(l, f, at);
    return rc == 0 && stays && l->rewrite.fd >= 0 ? write_kept(l, line, n) : rc;
}

/* Of the file at `path`, own or another's, which is then copied. Line by line: the file of a long
 * run is not held in memory. */
static int cut_lines(struct metrics_log *l, const char *path)
{
    struct file f = {.fd = -1};
    char *line = NULL;
    size_t room = 0;
    uint64_t at = 0;
    if (!file_exists(path))
        return 0;
    int rc = file_open(&f, path);
    FILE *lines = rc == 0 ? fopen(path, "re") : NULL;
    if (rc == 0 && lines == NULL)
        rc = file_error("open", path);
    if (rc == 0 && path != l->path)
        rc = begin_rewrite(l, &f, 0);
    for (ssize_t n; rc == 0 && (n = getline(&line, &room, lines)) > 0; at += (size_t)n)
        rc = cut_line(l, &f, at, line, (size_t)n);
    if (rc == 0 && !feof(lines))
        rc = file_error("read", path);
    free(line);
    if (lines != NULL)
        fclose(lines);
    file_close(&f);
    return rc;
}

/* A run of another folder, if that has lines; the step that those here end with is then its own. */
static int take_lines(struct metrics_log *l, const char *old)
{
    char *path = old == NULL ? NULL : file_join(old, "metrics.jsonl");
    if (old != NULL && path == NULL)
        return ERR_NOMEM;
    const bool copies = path != NULL && file_exists(path);
    if (path != NULL && !copies)
        l->from = -1;
    l->copies = copies;
    const int rc = cut_lines(l, copies ? path : l->path);
    mem_free(path);
    return rc;
}

int metrics_open(struct metrics_log **out, const char *folder, const char *old, int64_t from,
                 const char *label)
{
    struct metrics_log *l = mem_alloc(sizeof *l);
    int rc = l == NULL ? ERR_NOMEM : 0;
    if (rc == 0) {
        *l = (struct metrics_log){.from = from, .rewrite.fd = -1};
        l->folder = mem_strdup(folder);
        l->path = file_join(folder, "metrics.jsonl");
        l->label = mem_strdup(label);
        rc = l->folder == NULL || l->path == NULL || l->label == NULL ? ERR_NOMEM
                                                                      : take_lines(l, old);
    }
    if (rc == 0)
        *out = l;
    else
        metrics_close(l);
    return rc;
}

int metrics_start(struct metrics_log *l, bool tensorboard)
{
    int rc = l->rewrite.fd >= 0 ? file_commit(&l->rewrite) : 0;
    if (rc == 0 && tensorboard)
        rc = tfevents_open(&l->events, l->folder, l->from);
    return rc;
}

void metrics_close(struct metrics_log *l)
{
    if (l == NULL)
        return;
    tfevents_close(l->events);
    file_abandon(&l->rewrite);
    mem_free(l->folder);
    mem_free(l->path);
    mem_free(l->label);
    mem_free(l);
}

/* Takes o. */
static int append_line(struct metrics_log *l, json_t *o)
{
    struct buf line = {0};
    /* Out of memory, jansson leaves things out: then there is no line, rather than a part. */
    int rc = err_last() == ERR_NOMEM ? ERR_NOMEM : print_line(&line, o);
    if (rc == 0)
        rc = file_append(l->path, line.data, line.n);
    buf_release(&line);
    json_decref(o);
    return rc;
}

/* One, to both files. JSON has no infinities and no NaN: such a value is left out of it. The tag
 * is the name within a group: TensorBoard shows a group as one page. */
static int put_scalar(struct metrics_log *l, json_t *o, const struct metrics *m, const char *group,
                      const char *name, double x)
{
    struct timespec now;
    if (isfinite(x))
        json_object_set_new(o, name, json_real(x));
    if (l->events == NULL)
        return 0;
    char *tag = mem_sprintf("%s/%s", group, name);
    if (tag == NULL)
        return ERR_NOMEM;
    clock_gettime(CLOCK_REALTIME, &now);
    const int rc = tfevents_scalar(l->events, tag, (float)x, m->step,
                                   (double)now.tv_sec + (double)now.tv_nsec * 1e-9);
    mem_free(tag);
    return rc;
}

static int flush_log(struct metrics_log *l)
{
    return l->events == NULL ? 0 : tfevents_flush(l->events);
}

static json_t *begin_line(const struct metrics_log *l, const struct metrics *m)
{
    err_clear();
    return json_pack("{s:s,s:I,s:I}", "label", l->label, "step", (json_int_t)m->step, "tokens",
                     (json_int_t)m->tokens);
}

/* Takes o, which is not written if something failed before. */
static int end_line(struct metrics_log *l, json_t *o, int rc)
{
    if (rc != 0) {
        json_decref(o);
        return rc;
    }
    /* The line last: a step whose line is there has all of it. */
    if ((rc = flush_log(l)) == 0)
        return append_line(l, o);
    json_decref(o);
    return rc;
}

/* Its figures: "wikitext_loss". */
static int put_evaluation(struct metrics_log *l, json_t *o, const struct metrics *m)
{
    const struct eval_result *r = m->evaluation;
    char name[96];
    int rc = 0;
    for (int i = 0; i < r->n_figures && rc == 0; i++) {
        snprintf(name, sizeof name, "%s_%s", r->name, r->figures[i].name);
        rc = put_scalar(l, o, m, "evaluation", name, r->figures[i].value);
    }
    return rc;
}

static int put_sources(struct metrics_log *l, json_t *o, const struct metrics *m)
{
    json_t *times = json_object();
    int rc = 0;
    for (int i = 0; i < m->n_sources && rc == 0; i++)
        rc = put_scalar(l, times, m, "sources", m->sources[i].path, m->sources[i].times);
    json_object_set(o, "sources", times);
    json_decref(times);
    return rc;
}

int metrics_line(struct metrics_log *l, const struct metrics *m)
{
    json_t *o = begin_line(l, m);
    bool validated = m->validation_step == m->step && isfinite(m->validation_loss);
    bool scaled = m->loss_scale > 1 || m->overflows > 0;
    const bool before = m->step == 0; /* nothing was trained: a validation alone */
    const struct {
        const char *group, *name;
        double x;
        bool left_out;
    } all[] = {
        {.group = "train", .name = "epoch", .x = m->epoch},
        {.group = "train", .name = "hours", .x = m->hours},
        {.group = "train",
         .name = "machine_hours",
         .x = m->machine_hours,
         .left_out = m->machine_hours == 0},
        {.group = "train", .name = "loss", .x = m->loss, .left_out = before},
        {.group = "train", .name = "accuracy", .x = m->accuracy, .left_out = before},
        {.group = "train", .name = "learning_rate", .x = m->learning_rate, .left_out = before},
        {.group = "train", .name = "grad_norm", .x = m->grad_norm, .left_out = before},
        {.group = "speed", .name = "tokens_per_s", .x = m->tokens_per_s, .left_out = before},
        {.group = "speed", .name = "samples_per_s", .x = m->samples_per_s, .left_out = before},
        {.group = "speed", .name = "share", .x = m->share, .left_out = m->share == 0},
        {.group = "speed", .name = "waited", .x = m->waited, .left_out = m->waited == 0},
        {.group = "speed", .name = "waited_rank", .x = m->waited_rank, .left_out = m->waited == 0},
        {.group = "train", .name = "skipped", .x = (double)m->skipped},
        {.group = "train", .name = "loss_scale", .x = m->loss_scale, .left_out = !scaled},
        {.group = "train", .name = "overflows", .x = (double)m->overflows, .left_out = !scaled},
        {.group = "validation",
         .name = "validation_loss",
         .x = m->validation_loss,
         .left_out = !validated},
        {.group = "validation",
         .name = "validation_accuracy",
         .x = m->validation_accuracy,
         .left_out = !validated}};
    int rc = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all && rc == 0; i++)
        if (!all[i].left_out)
            rc = put_scalar(l, o, m, all[i].group, all[i].name, all[i].x);
    if (rc == 0 && m->evaluation != NULL)
        rc = put_evaluation(l, o, m);
    if (rc == 0 && m->n_sources > 0)
        rc = put_sources(l, o, m);
    const double left_s = metrics_left_s(m, (double)m->step);
    if (m->n_steps > 0)
        json_object_set_new(o, "n_steps", json_integer(m->n_steps));
    if (left_s >= 0)
        json_object_set_new(o, "left_s", json_real(left_s));
    if (m->finished)
        json_object_set_new(o, "finished", json_true());
    if (m->best_step >= 0 && isfinite(m->best_loss)) {
        json_object_set_new(o, "best_step", json_integer(m->best_step));
        json_object_set_new(o, "best_loss", json_real(m->best_loss));
    }
    return end_line(l, o, rc);
}

int metrics_finished(struct metrics_log *l, const struct metrics *m)
{
    json_t *o = begin_line(l, m);
    if (m->n_steps > 0)
        json_object_set_new(o, "n_steps", json_integer(m->n_steps));
    json_object_set_new(o, "finished", json_true());
    return end_line(l, o, 0);
}

/* Of a line that metrics_line wrote; what is not there is as where it is not known. */
static int parse_line(struct metrics *m, char **label, const json_t *o)
{
    const struct {
        const char *name;
        double *to;
    } all[] = {{"epoch", &m->epoch},
               {"hours", &m->hours},
               {"loss", &m->loss},
               {"accuracy", &m->accuracy},
               {"learning_rate", &m->learning_rate},
               {"grad_norm", &m->grad_norm},
               {"tokens_per_s", &m->tokens_per_s},
               {"samples_per_s", &m->samples_per_s},
               {"share", &m->share},
               {"waited", &m->waited},
               {"loss_scale", &m->loss_scale},
               {"best_loss", &m->best_loss},
               {"validation_loss", &m->validation_loss}};
    const char *text = "";
    double left_s = -1, skipped = 0, waited_rank = 0;
    int64_t tokens = 0;
    int rc = 0;
    *m = (struct metrics){.loss = NAN, .grad_norm = NAN, .validation_step = -1, .best_step = -1};
    for (size_t i = 0; i < sizeof all / sizeof *all && rc == 0; i++)
        rc = json_take_number(o, all[i].name, -1e300, 1e300, all[i].to);
    if (rc == 0)
        rc = json_take_int(o, "step", 0, INT64_MAX, &m->step);
    if (rc == 0)
        rc = json_take_int(o, "n_steps", 0, INT64_MAX, &m->n_steps);
    if (rc == 0)
        rc = json_take_int(o, "tokens", 0, INT64_MAX, &tokens);
    if (rc == 0)
        rc = json_take_int(o, "best_step", 0, INT64_MAX, &m->best_step);
    if (rc == 0)
        rc = json_take_number(o, "left_s", 0, 1e300, &left_s);
    if (rc == 0)
        rc = json_take_number(o, "skipped", 0, 1e15, &skipped);
    if (rc == 0)
        rc = json_take_number(o, "waited_rank", 0, 65536, &waited_rank);
    m->finished = json_is_true(json_object_get(o, "finished"));
    m->skipped = (int64_t)skipped;
    m->waited_rank = (int)waited_rank;
    m->tokens = (uint64_t)tokens;
    if (left_s >= 0)
        m->end_hours = m->hours + left_s / 3600;
    if (left_s >= 0 && m->n_steps > m->step)
        m->step_s = left_s / (double)(m->n_steps - m->step);
    if (rc == 0 && (rc = json_take_text(o, "label", &text)) == 0 &&
        (*label = mem_strdup(text)) == NULL)
        rc = ERR_NOMEM;
    if (json_object_get(o, "validation_loss") != NULL)
        m->validation_step = m->step;
    return rc;
}

/* From the end: half a line may be behind the last, and lines of other kinds, as that it was the
 * last, which says of how many steps. Half of one is no JSON. */
static int find_last_line(json_t **out, const struct buf *tail)
{
    static const char *const of_end[] = {"finished", "n_steps"};
    json_t *last = NULL;
    int rc = 0;
    for (size_t end = tail->n; *out == NULL && end > 0 && rc != ERR_NOMEM;) {
        size_t begin = end - 1;
        while (begin > 0 && tail->data[begin - 1] != '\n')
            begin--;
        if ((rc = json_read_line(out, tail->data + begin, end - begin)) == 0 &&
            json_object_get(*out, "learning_rate") == NULL) {
            if (last == NULL && json_is_true(json_object_get(*out, "finished")))
                last = json_incref(*out);
            json_decref(*out);
            *out = NULL;
        }
        end = begin;
    }
    for (int i = 0; i < 2 && *out != NULL && last != NULL; i++) {
        json_t *value = json_object_get(last, of_end[i]);
        if (value != NULL && json_object_set(*out, of_end[i], value) != 0)
            rc = ERR_NOMEM;
    }
    json_decref(last);
    return rc == ERR_NOMEM ? rc : 0;
}

/* The last of its n bytes. */
static int read_tail(struct buf *out, const struct file *f, uint64_t n)
{
    const int rc = buf_reserve(out, n);
    out->n = rc == 0 ? n : 0;
    return rc == 0 ? file_read_at(f, out->data, f->bytes - n, n) : rc;
}

/* The last whole line of a run's folder, for the caller to give back: in the last bytes of its
 * file, or in more of them. */
static int read_last_line(json_t **out, const char *folder)
{
    enum { FIRST = 1 << 16, MORE = 8 };
    struct file f = {.fd = -1};
    struct buf tail = {0};
    char shown[256];
    char *path = file_join(folder, "metrics.jsonl");
    *out = NULL;
    int rc = path == NULL ? ERR_NOMEM : file_open(&f, path);
    for (uint64_t n = FIRST, read = 0; rc == 0 && *out == NULL && read < f.bytes; n *= MORE) {
        read = n < f.bytes ? n : f.bytes;
        tail.n = 0;
        if ((rc = read_tail(&tail, &f, read)) == 0)
            rc = find_last_line(out, &tail);
    }
    if (rc == 0 && *out == NULL)
        rc = err_set(ERR_MISSING, "%s has no training metrics yet",
                     file_show(shown, sizeof shown, path));
    buf_release(&tail);
    file_close(&f);
    mem_free(path);
    return rc;
}

int metrics_read_last(struct metrics *m, char **label, const char *folder)
{
    json_t *line;
    int rc = read_last_line(&line, folder);
    if (rc == 0)
        rc = parse_line(m, label, line);
    json_decref(line);
    return rc;
}

/* The paths lie behind the rows. */
static int copy_sources(struct source_reads **out, int *n, json_t *o)
{
    const char *path;
    json_t *times;
    size_t bytes = json_object_size(o) * sizeof **out;
    json_object_foreach(o, path, times) bytes += strlen(path) + 1;
    if ((*out = mem_alloc(bytes)) == NULL)
        return ERR_NOMEM;
    char *text = (char *)(*out + json_object_size(o));
    json_object_foreach(o, path, times)
    {
        (*out)[(*n)++] = (struct source_reads){strcpy(text, path), json_number_value(times)};
        text += strlen(path) + 1;
    }
    return 0;
}

int metrics_read_sources(struct source_reads **out, int *n, const char *folder)
{
    json_t *line, *sources;
    *out = NULL;
    *n = 0;
    int rc = read_last_line(&line, folder);
    if (rc == 0 && json_is_object(sources = json_object_get(line, "sources")))
        rc = copy_sources(out, n, sources);
    json_decref(line);
    return rc;
}

int metrics_tensors(struct metrics_log *l, const struct metrics *m, const struct params *table,
                    const struct tensor_change *changes)
{
    json_t *o = begin_line(l, m), *norms = json_object(), *ratios = json_object();
    int rc = 0;
    for (int i = 0; i < table->n_tensors && rc == 0; i++) {
        const struct tensor_change *c = &changes[i];
        const char *name = table->tensors[i].name;
        rc = put_scalar(l, norms, m, "grad_norm", name, c->grad_norm);
        if (rc == 0 && c->weight_norm > 0)
            rc = put_scalar(l, ratios, m, "update_ratio", name, c->update_norm / c->weight_norm);
    }
    if (o != NULL) {
        json_object_set(o, "grad_norms", norms);
        json_object_set(o, "update_ratios", ratios);
    }
    json_decref(norms);
    json_decref(ratios);
    return end_line(l, o, rc);
}

int metrics_activations(struct metrics_log *l, const struct metrics *m,
                        const struct activation_stats *w)
{
    static const struct {
        const char *key, *group;
        size_t offset;
    } kinds[] = {
        {"activation_means", "activation_mean", offsetof(struct activation_summary, mean)},
        {"activation_stds", "activation_std", offsetof(struct activation_summary, std)},
        {"activation_maxima", "activation_max", offsetof(struct activation_summary, max)},
        {"activation_zeros", "activation_zeros", offsetof(struct activation_summary, zeros)}};
    json_t *o = begin_line(l, m);
    int rc = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && rc == 0; k++) {
        json_t *all = json_object();
        for (int i = 0; i < w->n_layer * N_ACTIVATION_SITES && rc == 0; i++) {
            char name[48];
            const struct activation_summary s =
                activation_stats_of(w, i / N_ACTIVATION_SITES, i % N_ACTIVATION_SITES);
            snprintf(name, sizeof name, "h.%d.%s", i / N_ACTIVATION_SITES,
                     activation_site_names[i % N_ACTIVATION_SITES]);
            rc = put_scalar(l, all, m, kinds[k].group, name,
                            *(const double *)((const char *)&s + kinds[k].offset));
        }
        json_object_set_new(o, kinds[k].key, all);
    }
    return end_line(l, o, rc);
}

int metrics_sample(struct metrics_log *l, const struct metrics *m, const struct buf *text)
{
    json_t *o = begin_line(l, m);
    json_object_set_new(o, "sample", json_of_text(buf_text(text), text->n));
    return append_line(l, o);
}
