#include "train/prepare/store.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/mem.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { STATE_MOST = 4096, NAME_BYTES = 200 };
static const char *const names[] = {"data", "ends", "marks", "state.json", "lock"};
enum { N_NAMES = sizeof names / sizeof names[0] };

static int open_lock(struct store *s)
{
    char shown[NAME_BYTES], *path = file_join(s->folder, "lock");
    if (path == NULL)
        return ERR_NOMEM;
    s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    int rc = s->lock < 0 ? file_error("write", path) : 0;
    if (rc == 0 && flock(s->lock, LOCK_EX | LOCK_NB) != 0)
        rc = err_set(ERR_EXISTS, "another process prepares this, in %s",
                     file_show(shown, sizeof shown, s->folder));
    mem_free(path);
    return rc;
}

/* What state.json says; of another key, or without one: nothing. */
static int read_state(struct store *s, struct store_place *place, uint64_t *bytes)
{
    json_t *state = NULL;
    const char *key = "";
    int64_t numbers[6] = {0};
    static const char *const fields[] = {"documents", "bytes", "source",
                                         "chunks",    "short", "text_bytes"};
    char *path = file_join(s->folder, "state.json");
    int rc = path == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && file_exists(path) && json_read_file(&state, path, STATE_MOST) == 0 &&
        json_take_text(state, "key", &key) == 0 && strcmp(key, s->key) == 0) {
        for (int i = 0; i < 6 && rc == 0; i++)
            rc = json_take_int(state, fields[i], 0, INT64_MAX, &numbers[i]);
        if (rc == 0)
            rc = json_take_bool(state, "complete", &place->complete);
        s->n = (uint64_t)numbers[0];
        *bytes = (uint64_t)numbers[1];
        place->source = (uint64_t)numbers[2];
        place->chunks = (uint64_t)numbers[3];
        place->short_ones = (uint64_t)numbers[4];
        place->text_bytes = (uint64_t)numbers[5];
    }
    json_decref(state);
    mem_free(path);
    return rc;
}

static int open_spool(struct store *s, struct spool *to, const char *name, uint64_t bytes)
{
    char *path = file_join(s->folder, name);
    int rc = path == NULL ? ERR_NOMEM : spool_open(to, path, bytes);
    mem_free(path);
    return rc;
}

/* The files as far as they count. Files that are shorter than the state says are damaged: then
 * nothing counts. */
static int open_spools(struct store *s, struct store_place *place)
{
    uint64_t bytes = 0;
    int rc = read_state(s, place, &bytes);
    for (int again = 0; again < 2; again++) {
        if (rc == 0)
            rc = open_spool(s, &s->data, "data", bytes);
        if (rc == 0)
            rc = open_spool(s, &s->ends, "ends", s->n * sizeof bytes);
        if (rc == 0)
            rc = open_spool(s, &s->marks, "marks", s->n * s->mark_bytes);
        if (rc == 0 || again || (rc != ERR_FORMAT && rc != ERR_RANGE))
            break;
        spool_close(&s->data);
        spool_close(&s->ends);
        *place = (struct store_place){0};
        s->n = bytes = 0;
        rc = 0;
    }
    s->last = bytes;
    return rc;
}

int store_open(struct store *s, struct store_place *place, const char *folder, const char *key,
               size_t mark_bytes)
{
    *s = (struct store){.lock = -1, .data.fd = -1, .ends.fd = -1, .marks.fd = -1};
    *place = (struct store_place){0};
    s->mark_bytes = mark_bytes;
    s->folder = mem_strdup(folder);
    s->key = mem_strdup(key);
    int rc = s->folder == NULL || s->key == NULL ? ERR_NOMEM : file_make_folder(folder);
    if (rc == 0)
        rc = open_lock(s);
    if (rc == 0)
        rc = open_spools(s, place);
    if (rc != 0)
        store_close(s);
    return rc;
}

void store_close(struct store *s)
{
    if (s == NULL || (s->folder == NULL && s->key == NULL)) /* zeroed, or closed */
        return;
    spool_close(&s->data);
    spool_close(&s->ends);
    spool_close(&s->marks);
    if (s->lock >= 0)
        close(s->lock);
    mem_free(s->folder);
    mem_free(s->key);
    *s = (struct store){.lock = -1};
}

void store_remove(struct store *s)
{
    char path[PATH_MAX];
    if (s->folder == NULL)
        return;
    for (int i = 0; i < N_NAMES; i++)
        if (snprintf(path, sizeof path, "%s/%s", s->folder, names[i]) < (int)sizeof path)
            unlink(path);
    rmdir(s->folder);
    store_close(s);
}

int store_add(struct store *s, const void *bytes, size_t n)
{
    s->open = true;
    return spool_write(&s->data, bytes, n);
}

int store_end(struct store *s, const struct store_mark *mark)
{
    int rc = spool_write(&s->ends, &s->data.at, sizeof s->data.at);
    if (rc == 0)
        rc = spool_write(&s->marks, mark, s->mark_bytes);
    s->n += rc == 0;
    s->last = s->data.at;
    s->open = false;
    return rc;
}

int store_drop(struct store *s)
{
    s->open = false;
    return spool_cut(&s->data, s->last);
}

int store_save(struct store *s, const struct store_place *place)
{
    struct buf text = {0};
    char *path = file_join(s->folder, "state.json");
    int rc = path == NULL ? ERR_NOMEM : spool_sync(&s->data);
    if (rc == 0)
        rc = spool_sync(&s->ends);
    if (rc == 0)
        rc = spool_sync(&s->marks);
    if (rc == 0)
        rc = buf_printf(
            &text,
            "{\"key\": \"%s\", \"documents\": %llu, \"bytes\": %llu, \"source\": %llu, "
            "\"chunks\": %llu, \"short\": %llu, \"text_bytes\": %llu, \"complete\": %s}\n",
            s->key, (unsigned long long)s->n, (unsigned long long)s->data.at,
            (unsigned long long)place->source, (unsigned long long)place->chunks,
            (unsigned long long)place->short_ones, (unsigned long long)place->text_bytes,
            place->complete ? "true" : "false");
    if (rc == 0)
        rc = file_write_whole(path, text.data, text.n, true);
    buf_release(&text);
    mem_free(path);
    return rc;
}

int store_find(const struct store *s, uint64_t i, uint64_t *first, uint64_t *bytes)
{
    uint64_t ends[2] = {0};
    int rc = i == 0 ? spool_read(&s->ends, &ends[1], 0, sizeof ends[1])
                    : spool_read(&s->ends, ends, (i - 1) * sizeof *ends, sizeof ends);
    *first = ends[0];
    *bytes = ends[1] - ends[0];
    return rc;
}

int store_marks(const struct store *s, void *out, uint64_t first, size_t n)
{
    return spool_read(&s->marks, out, first * s->mark_bytes, n * s->mark_bytes);
}
