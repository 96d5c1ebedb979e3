#include "train/eval/history.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 64 << 20 };

static char *history_path(void)
{
    return file_home(HOME_STATE, "evaluations.jsonl");
}

/* A line that was cut off, by a full disk say, must not take the next one with it. */
static int has_open_line(const char *path, bool *open)
{
    struct file f;
    char last = '\n';
    *open = false;
    int rc = file_exists(path) ? file_open(&f, path) : ERR_MISSING;
    if (rc != 0)
        return rc == ERR_MISSING ? 0 : rc;
    if (f.bytes > 0)
        rc = file_read_at(&f, &last, f.bytes - 1, 1);
    file_close(&f);
    *open = last != '\n';
    return rc;
}

int eval_history_add(const json_t *record)
{
    char *path = history_path(), *folder = file_home(HOME_STATE, "");
    struct buf line = {0};
    bool open;
    int rc = path == NULL || folder == NULL ? err_last() : file_make_folder(folder);
    if (rc == 0 && (rc = has_open_line(path, &open)) == 0 && open)
        rc = buf_char(&line, '\n');
    if (rc == 0)
        rc = json_print(&line, record, JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (rc == 0 && (rc = buf_char(&line, '\n')) == 0)
        rc = file_append(path, line.data, line.n);
    buf_release(&line);
    mem_free(folder);
    mem_free(path);
    return rc;
}

/* What everybody who reads a record relies on. */
static bool is_record(const json_t *o)
{
    static const char *const texts[] = {"date",       "model",      "fingerprint", "dtype",
                                        "evaluation", "definition", "file"};
    const char *name;
    json_t *figure;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!json_is_string(json_object_get(o, texts[i])))
            return false;
    if (!json_is_object(json_object_get(o, "figures")))
        return false;
    json_object_foreach(json_object_get(o, "figures"), name, figure)
    {
        const json_t *value = json_object_get(figure, "value");
        if (!json_is_number(value) && !json_is_null(value))
            return false;
    }
    return true;
}

static int add_record_line(struct eval_history *h, size_t *cap, const char *line, size_t n)
{
    json_t *o = NULL;
    int rc = json_read_plain_line(&o, line, n);
    if (rc == ERR_NOMEM)
        return rc;
    if (rc != 0 || !is_record(o)) {
        json_decref(o);
        h->n_bad++;
        return 0;
    }
    if (h->n == *cap) {
        size_t more = 2 * *cap + 16;
        json_t **grown = mem_grow(h->list, *cap * sizeof *grown, more * sizeof *grown);
        if (grown == NULL) {
            json_decref(o);
            return ERR_NOMEM;
        }
        h->list = grown;
        *cap = more;
    }
    h->list[h->n++] = o;
    return 0;
}

int eval_history_read(struct eval_history *h)
{
    struct buf all = {0};
    size_t cap = 0;
    char *path = history_path();
    *h = (struct eval_history){0};
    if (path == NULL)
        return err_last() == ERR_MISSING ? 0 : ERR_NOMEM;
    int rc = file_exists(path) ? file_read_all(&all, path, FILE_BYTES_MAX) : 0;
    for (size_t at = 0; at < all.n && rc == 0;) {
        const char *line = all.data + at, *end = memchr(line, '\n', all.n - at);
        size_t n = end == NULL ? all.n - at : (size_t)(end - line);
        if (strspn(line, " \t\r") < n)
            rc = add_record_line(h, &cap, line, n);
        at += n + 1;
    }
    if (rc != 0)
        eval_history_release(h);
    buf_release(&all);
    mem_free(path);
    return rc;
}

static bool record_has(const json_t *record, const char *word)
{
    static const char *const keys[] = {"model", "source", "evaluation", "file"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *text = json_string_value(json_object_get(record, keys[i]));
        if (text != NULL && strcasestr(text, word) != NULL)
            return true;
    }
    return false;
}

void eval_history_select(struct eval_history *h, char *const *words, int n, int last)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->n; i++) {
        bool wanted = true;
        for (int k = 0; k < n && wanted; k++)
            wanted = record_has(h->list[i], words[k]);
        if (wanted)
            h->list[kept++] = h->list[i];
        else
            json_decref(h->list[i]);
    }
    h->n = kept;
    const size_t drop = last > 0 && kept > (size_t)last ? kept - (size_t)last : 0;
    for (size_t i = 0; i < drop; i++)
        json_decref(h->list[i]);
    h->n -= drop;
    if (drop > 0)
        memmove(h->list, h->list + drop, h->n * sizeof *h->list);
}

int eval_history_clear(void)
{
    char *path = history_path();
    if (path == NULL)
        return err_last();
    int rc = unlink(path) == 0 || errno == ENOENT ? 0 : file_fails("remove", path);
    mem_free(path);
    return rc;
}

void eval_history_release(struct eval_history *h)
{
    for (size_t i = 0; i < h->n; i++)
        json_decref(h->list[i]);
    mem_free(h->list);
    *h = (struct eval_history){0};
}
