#include "train/prepare/store.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/file_lock.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "train/prepare/placing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STATE_MOST = 4096, NAME_BYTES = 200, IDS_AT_ONCE = 4096 };
static const char *const names[] = {"data", "ends", "marks", "state.json", "lock"};
enum { N_NAMES = sizeof names / sizeof names[0] };

static int open_lock(struct store *s)
{
    char shown[NAME_BYTES], *path = file_join(s->folder, "lock");
    if (path == NULL)
        return ERR_NOMEM;
    s->lock = file_lock_take(path, 0666);
    int rc = s->lock >= 0           ? 0
             : errno == EWOULDBLOCK ? err_set(ERR_EXISTS, "another process prepares this, in %s",
                                              file_show(shown, sizeof shown, s->folder))
                                    : file_error("write", path);
    mem_free(path);
    return rc;
}

/* The numbers of state.json, in their order. */
enum { N_FIELDS = 12 };
static const char *const fields[N_FIELDS] = {
    "documents",  "bytes",      "short",           "text_bytes", "texts",  "documents_then",
    "bytes_then", "short_then", "text_bytes_then", "texts_then", "source", "chunks"};

static void list_fields(uint64_t *list[N_FIELDS], struct store_place *p)
{
    struct store_count *c = &p->now, *t = &p->then;
    uint64_t *const all[N_FIELDS] = {&c->documents,  &c->bytes,     &c->short_ones, &c->text_bytes,
                                     &c->texts,      &t->documents, &t->bytes,      &t->short_ones,
                                     &t->text_bytes, &t->texts,     &p->source,     &p->chunks};
    memcpy(list, all, sizeof all);
}

/* What state.json says; of another key, or without one: nothing. */
static int read_state(struct store *s, struct store_place *place)
{
    json_t *state = NULL;
    const char *key = "";
    uint64_t *list[N_FIELDS];
    char *path = file_join(s->folder, "state.json");
    int rc = path == NULL ? ERR_NOMEM : 0;
    list_fields(list, place);
    if (rc == 0 && file_exists(path) && json_read_file(&state, path, STATE_MOST) == 0 &&
        json_take_text(state, "key", &key) == 0 && strcmp(key, s->key) == 0) {
        for (int i = 0; i < N_FIELDS && rc == 0; i++) {
            int64_t number = 0;
            rc = json_take_int(state, fields[i], 0, INT64_MAX, &number);
            *list[i] = (uint64_t)number;
        }
        if (rc == 0 && place->now.documents > INT64_MAX / 64) /* times what is kept of each */
            rc = err_set(ERR_FORMAT, "state.json counts more documents than there can be");
        if (rc == 0)
            rc = json_take_bool(state, "complete", &place->complete);
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
    int rc = read_state(s, place);
    for (int again = 0; again < 2; again++) {
        const struct store_count *c = &place->now;
        if (rc == 0)
            rc = open_spool(s, &s->data, "data", c->bytes);
        if (rc == 0)
            rc = open_spool(s, &s->ends, "ends", c->documents * sizeof s->last);
        if (rc == 0)
            rc = open_spool(s, &s->marks, "marks", c->documents * s->mark_bytes);
        if (rc == 0 || again || (rc != ERR_FORMAT && rc != ERR_RANGE))
            break;
        spool_close(&s->data);
        spool_close(&s->ends);
        *place = (struct store_place){0};
        rc = 0;
    }
    s->n = place->now.documents;
    s->last = place->now.bytes;
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

/* Those above, the sorter's, and what a kill left of one that was being replaced. */
static bool is_ours(const char *name)
{
    static const char *const others[] = {"runs", "more-runs"};
    bool ours = strncmp(name, "state.json.", strlen("state.json.")) == 0 ||
                strncmp(name, "placing.json.", strlen("placing.json.")) == 0;
    for (int i = 0; i < N_NAMES; i++)
        ours |= strcmp(name, names[i]) == 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ours |= strcmp(name, others[i]) == 0;
    return ours;
}

/* Last: until then, a kill leaves what the same command takes back. */
static void delete_note(const struct store *s)
{
    char *path = file_join(s->folder, placing_name);
    if (path != NULL)
        unlink(path);
    mem_free(path);
}

void store_remove(struct store *s)
{
    if (s->folder == NULL)
        return;
    DIR *dir = opendir(s->folder);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        if (is_ours(e->d_name))
            unlinkat(dirfd(dir), e->d_name, 0);
    if (dir != NULL)
        closedir(dir);
    delete_note(s);
    rmdir(s->folder);
    store_close(s);
}

int store_add(struct store *s, const void *bytes, size_t n)
{
    s->open = true;
    return spool_write(&s->data, bytes, n);
}

int store_add_ids(struct store *s, const token_id *ids, size_t n, int id_bytes)
{
    uint16_t block[IDS_AT_ONCE];
    int rc = 0;
    if (id_bytes == sizeof *ids)
        return store_add(s, ids, n * sizeof *ids);
    for (size_t done = 0; done < n && rc == 0;) {
        const size_t part = n - done < IDS_AT_ONCE ? n - done : IDS_AT_ONCE;
        for (size_t i = 0; i < part; i++)
            block[i] = (uint16_t)ids[done + i];
        rc = store_add(s, block, part * sizeof *block);
        done += part;
    }
    return rc;
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
    uint64_t *list[N_FIELDS];
    struct store_place copy = *place;
    copy.now.documents = s->n;
    copy.now.bytes = s->last;
    char *path = file_join(s->folder, "state.json");
    int rc = path == NULL ? ERR_NOMEM : spool_sync(&s->data);
    list_fields(list, &copy);
    if (rc == 0)
        rc = spool_sync(&s->ends);
    if (rc == 0)
        rc = spool_sync(&s->marks);
    if (rc == 0)
        rc = buf_printf(&text, "{\"key\": \"%s\", ", s->key);
    for (int i = 0; i < N_FIELDS && rc == 0; i++)
        rc = buf_printf(&text, "\"%s\": %llu, ", fields[i], (unsigned long long)*list[i]);
    if (rc == 0)
        rc = buf_printf(&text, "\"complete\": %s}\n", place->complete ? "true" : "false");
    if (rc == 0)
        rc = file_write_whole(path, text.data, text.n, true);
    buf_release(&text);
    mem_free(path);
    return rc;
}

/* The state first: were the process killed in between, files may have more than it says. */
int store_rewind(struct store *s, struct store_place *place)
{
    place->now = place->then;
    place->chunks = 0;
    place->complete = false;
    s->n = place->now.documents;
    s->last = place->now.bytes;
    s->open = false;
    int rc = store_save(s, place);
    if (rc == 0)
        rc = spool_cut(&s->data, s->last);
    if (rc == 0)
        rc = spool_cut(&s->ends, s->n * sizeof s->last);
    return rc == 0 ? spool_cut(&s->marks, s->n * s->mark_bytes) : rc;
}

int store_find(const struct store *s, struct spool_view *ends, uint64_t i, uint64_t *first,
               uint64_t *bytes)
{
    const char *at;
    uint64_t both[2] = {0};
    int rc = i == 0 ? spool_look(ends, &at, &s->ends, 0, sizeof both[1])
                    : spool_look(ends, &at, &s->ends, (i - 1) * sizeof *both, sizeof both);
    if (rc == 0)
        memcpy(&both[i == 0], at, i == 0 ? sizeof both[1] : sizeof both);
    *first = both[0];
    *bytes = both[1] - both[0];
    return rc;
}

int store_marks(const struct store *s, void *out, uint64_t first, size_t n)
{
    return spool_read(&s->marks, out, first * s->mark_bytes, n * s->mark_bytes);
}
