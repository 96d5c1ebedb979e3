#include "model/base/record_file.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 64 << 20 };

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

int record_file_add(const char *name, const json_t *record)
{
    char *path = file_home(HOME_STATE, name), *folder = file_home(HOME_STATE, "");
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

static int add_record_line(struct records *r, size_t *cap, bool (*is_record)(const json_t *o),
                           const char *line, size_t n)
{
    json_t *o = NULL;
    int rc = json_read_plain_line(&o, line, n);
    if (rc == ERR_NOMEM)
        return rc;
    if (rc != 0 || !is_record(o)) {
        json_decref(o);
        r->n_bad++;
        return 0;
    }
    if (r->n == *cap) {
        size_t more = 2 * *cap + 16;
        json_t **grown = mem_grow(r->list, *cap * sizeof *grown, more * sizeof *grown);
        if (grown == NULL) {
            json_decref(o);
            return ERR_NOMEM;
        }
        r->list = grown;
        *cap = more;
    }
    r->list[r->n++] = o;
    return 0;
}

int record_file_read(struct records *r, const char *name, bool (*is_record)(const json_t *o))
{
    struct buf all = {0};
    size_t cap = 0;
    char *path = file_home(HOME_STATE, name);
    *r = (struct records){0};
    if (path == NULL)
        return err_last() == ERR_MISSING ? 0 : ERR_NOMEM;
    int rc = file_exists(path) ? file_read_all(&all, path, FILE_BYTES_MAX) : 0;
    for (size_t at = 0; at < all.n && rc == 0;) {
        const char *line = all.data + at, *end = memchr(line, '\n', all.n - at);
        size_t n = end == NULL ? all.n - at : (size_t)(end - line);
        if (strspn(line, " \t\r") < n)
            rc = add_record_line(r, &cap, is_record, line, n);
        at += n + 1;
    }
    if (rc != 0)
        records_release(r);
    buf_release(&all);
    mem_free(path);
    return rc;
}

void records_keep_newest(struct records *r, size_t n)
{
    const size_t drop = r->n > n ? r->n - n : 0;
    for (size_t i = 0; i < drop; i++)
        json_decref(r->list[i]);
    r->n -= drop;
    if (drop > 0)
        memmove(r->list, r->list + drop, r->n * sizeof *r->list);
}

int record_file_clear(const char *name)
{
    char *path = file_home(HOME_STATE, name);
    if (path == NULL)
        return err_last();
    int rc = unlink(path) == 0 || errno == ENOENT ? 0 : file_fails("remove", path);
    mem_free(path);
    return rc;
}

void records_release(struct records *r)
{
    for (size_t i = 0; i < r->n; i++)
        json_decref(r->list[i]);
    mem_free(r->list);
    *r = (struct records){0};
}
