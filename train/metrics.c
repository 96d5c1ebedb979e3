#include "train/metrics.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/mem.h"

#include <math.h>
#include <string.h>

struct metrics_log {
    char *path;
};

/* Whether a line of the file is of a step up to `last`; what is no such line goes. */
static bool is_kept(const char *line, size_t n, int64_t last)
{
    json_t *o = NULL;
    int64_t step = INT64_MAX;
    bool kept = json_read_text(&o, line, n) == 0 && json_is_object(o) &&
                json_take_int(o, "step", 0, INT64_MAX, &step) == 0 && step <= last;
    if (o != NULL)
        json_decref(o);
    return kept;
}

/* Write the file again with the lines up to a step; the last one may be half a line. */
static int cut(const char *path, int64_t last)
{
    struct buf all = {0}, kept = {0};
    struct file_writer f = {.fd = -1};
    int rc = file_exists(path) ? file_read_all(&all, path, UINT32_MAX) : 0;
    for (size_t at = 0; at < all.n && rc == 0;) {
        const char *end = memchr(all.data + at, '\n', all.n - at);
        size_t n = end == NULL ? all.n - at : (size_t)(end - (all.data + at)) + 1;
        if (end != NULL && is_kept(all.data + at, n, last))
            rc = buf_add(&kept, all.data + at, n);
        at += n;
    }
    if (rc == 0 && kept.n != all.n && (rc = file_create(&f, path, true)) == 0 &&
        (rc = file_write(&f, kept.data, kept.n)) == 0)
        rc = file_commit(&f);
    file_abandon(&f);
    buf_release(&all);
    buf_release(&kept);
    return rc;
}

int metrics_open(struct metrics_log **out, const char *folder, int64_t from)
{
    struct metrics_log *l = mem_alloc(sizeof *l);
    int rc = l == NULL || (l->path = file_join(folder, "metrics.jsonl")) == NULL ? ERR_NOMEM : 0;
    if (rc == 0)
        rc = cut(l->path, from);
    if (rc == 0)
        *out = l;
    else
        metrics_close(l);
    return rc;
}

void metrics_close(struct metrics_log *l)
{
    if (l == NULL)
        return;
    mem_free(l->path);
    mem_free(l);
}

/* Takes o. */
static int append(struct metrics_log *l, json_t *o)
{
    char *text = o == NULL ? NULL : json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(9));
    struct buf line = {0};
    int rc = text == NULL ? err_set(ERR_NOMEM, "no memory for a line of metrics")
                          : buf_printf(&line, "%s\n", text);
    if (rc == 0)
        rc = file_append(l->path, line.data, line.n);
    buf_release(&line);
    mem_free(text);
    json_decref(o);
    return rc;
}

/* JSON has no infinities and no NaN: such a value is left out. */
static void put(json_t *o, const char *name, double x)
{
    if (isfinite(x))
        json_object_set_new(o, name, json_real(x));
}

static json_t *begin(const struct metrics *m)
{
    return json_pack("{s:I,s:I}", "step", (json_int_t)m->step, "tokens", (json_int_t)m->tokens);
}

int metrics_line(struct metrics_log *l, const struct metrics *m)
{
    json_t *o = begin(m);
    const struct {
        const char *name;
        double x;
    } all[] = {{"epoch", m->epoch},
               {"hours", m->hours},
               {"loss", m->loss},
               {"accuracy", m->accuracy},
               {"learning_rate", m->learning_rate},
               {"grad_norm", m->grad_norm},
               {"tokens_per_s", m->tokens_per_s},
               {"samples_per_s", m->samples_per_s},
               {"skipped", (double)m->skipped}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        put(o, all[i].name, all[i].x);
    if (m->validation_step == m->step) {
        put(o, "validation_loss", m->validation_loss);
        put(o, "validation_accuracy", m->validation_accuracy);
    }
    return append(l, o);
}

int metrics_sample(struct metrics_log *l, const struct metrics *m, const char *text)
{
    json_t *o = begin(m), *sample = json_string(text);
    if (sample != NULL)
        json_object_set_new(o, "sample", sample);
    return append(l, o);
}
