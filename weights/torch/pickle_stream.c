#include "weights/torch/pickle_stream.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "weights/torch/pickle.h"
#include "weights/torch/pickle_objects.h"

#include <stdlib.h>
#include <string.h>

enum { PROTOCOL_VERSION = 1001, HEAD_BYTES = 2 };

/* LONG1 of 0x1950a86a20f9469cfc6c and STOP, which follow PROTO. */
static const char magic[] = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
enum { MAGIC_BYTES = sizeof magic - 1 };

bool pickle_is_stream(const char *bytes, size_t n_bytes)
{
    return n_bytes >= HEAD_BYTES + MAGIC_BYTES && bytes[0] == '\x80' &&
           memcmp(bytes + HEAD_BYTES, magic, MAGIC_BYTES) == 0;
}

/* Run a new machine on the pickle that begins at byte *at; *at moves past its STOP. */
static int run_pickle(struct pickle_machine *m, size_t *at, const char *bytes, size_t n_bytes)
{
    *m = (struct pickle_machine){.at = bytes + *at, .start = bytes, .end = bytes + n_bytes};
    int rc = pickle_run(m);
    if (rc == 0 && m->stack.n != 1)
        rc = pickle_broken(m, "it leaves more or less than one value");
    *at = (size_t)(m->at - bytes) + (rc == 0);
    return rc;
}

static int check_version(struct pickle_machine *m)
{
    const struct pickle_value *v = pickle_peek(m, 0);
    if (v->kind != PICKLE_INT)
        return pickle_broken(m, "the protocol's version is not a whole number");
    if (v->number != PROTOCOL_VERSION)
        return err_set(ERR_UNSUPPORTED, "it is in version %lld of torch's format, expected %d",
                       (long long)v->number, PROTOCOL_VERSION);
    return 0;
}

static int check_machine(struct pickle_machine *m)
{
    static const char key[] = "little_endian";
    const struct pickle_value *dict = pickle_peek(m, 0);
    if (dict->kind != PICKLE_DICT)
        return pickle_broken(m, "what it says of the machine is not a dict");
    for (int32_t c = dict->first; c >= 0; c = pickle_cell(m, c)->next) {
        const struct pickle_value *name = pickle_value(m, pickle_cell(m, c)->value);
        c = pickle_cell(m, c)->next;
        const struct pickle_value *value = pickle_value(m, pickle_cell(m, c)->value);
        if (name->kind == PICKLE_TEXT && name->text.n == sizeof key - 1 &&
            memcmp(name->text.at, key, sizeof key - 1) == 0 && value->kind == PICKLE_BOOL &&
            value->number == 0)
            return err_set(ERR_UNSUPPORTED, "its numbers are not little-endian");
    }
    return 0;
}

static int compare_keys(const void *a, const void *b)
{
    const struct pickle_storage_id *x = a, *y = b;
    const size_t least = x->n_key < y->n_key ? x->n_key : y->n_key;
    const int order = memcmp(x->key, y->key, least);
    return order != 0 ? order : (x->n_key > y->n_key) - (x->n_key < y->n_key);
}

/* List every storage once, also those of tensors that are skipped, since they are in the file too.
 */
static int list_storages(struct pickle_stream *s, const struct pickle_machine *m)
{
    char shown[PICKLE_SHOWN];
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < m->values.n; i++)
        n += pickle_value(m, (int32_t)i)->kind == PICKLE_STORAGE;
    struct pickle_storage_id *list = s->storages = mem_array(n + 1, sizeof *list);
    if (list == NULL)
        return ERR_NOMEM;
    n = 0;
    for (size_t i = 0; i < m->values.n; i++)
        if (pickle_value(m, (int32_t)i)->kind == PICKLE_STORAGE)
            list[n++] = pickle_storage_id(m, pickle_value(m, (int32_t)i));
    qsort(list, n, sizeof *list, compare_keys);
    for (size_t i = 0; i < n; i++) {
        const struct pickle_storage_id *last = kept == 0 ? NULL : &list[kept - 1];
        if (last == NULL || compare_keys(last, &list[i]) != 0)
            list[kept++] = list[i];
        else if (last->element_bytes != list[i].element_bytes || last->elements != list[i].elements)
            return err_set(ERR_FORMAT, "storage %s has two types or sizes",
                           pickle_show(shown, list[i].key, list[i].n_key));
    }
    s->n_storages = (int)kept;
    return 0;
}

int pickle_stream_find(const struct pickle_stream *s, const char *key, size_t n_key)
{
    const struct pickle_storage_id wanted = {.key = key, .n_key = n_key};
    const struct pickle_storage_id *found =
        bsearch(&wanted, s->storages, (size_t)s->n_storages, sizeof wanted, compare_keys);
    return found == NULL ? -1 : (int)(found - s->storages);
}

/* The list of keys must have each storage once. */
static int read_order(struct pickle_stream *s, struct pickle_machine *m)
{
    char shown[PICKLE_SHOWN];
    const struct pickle_value *list = pickle_peek(m, 0);
    if (list->kind != PICKLE_LIST)
        return pickle_broken(m, "the storages' keys are not a list");
    bool *listed = mem_array((size_t)s->n_storages + 1, sizeof *listed);
    s->order = mem_array((size_t)s->n_storages + 1, sizeof *s->order);
    int n = 0, rc = listed == NULL || s->order == NULL ? ERR_NOMEM : 0;
    for (int32_t c = list->first; c >= 0 && rc == 0; c = pickle_cell(m, c)->next) {
        const struct pickle_value *key = pickle_value(m, pickle_cell(m, c)->value);
        const int k =
            key->kind == PICKLE_TEXT ? pickle_stream_find(s, key->text.at, key->text.n) : -1;
        if (key->kind != PICKLE_TEXT)
            rc = pickle_broken(m, "the key of a storage is not text");
        else if (k < 0 || listed[k])
            rc = err_set(ERR_FORMAT, "storage %s is listed %s",
                         pickle_show(shown, key->text.at, key->text.n),
                         k < 0 ? "but no tensor has it" : "twice");
        else {
            listed[k] = true;
            s->order[n++] = k;
        }
    }
    for (int k = 0; k < s->n_storages && rc == 0; k++)
        if (!listed[k])
            rc = err_set(ERR_FORMAT, "storage %s is not in the file",
                         pickle_show(shown, s->storages[k].key, s->storages[k].n_key));
    mem_free(listed);
    return rc;
}

static int read_dict(struct pickle_stream *s, struct pickle_machine *m)
{
    int rc = pickle_about(m, &s->about);
    if (rc == 0)
        rc = pickle_collect(m, &s->tensors, &s->n_tensors);
    return rc == 0 ? list_storages(s, m) : rc;
}

int pickle_stream_read(struct pickle_stream *out, const char *bytes, size_t n_bytes)
{
    *out = (struct pickle_stream){.n_bytes = HEAD_BYTES + MAGIC_BYTES};
    struct pickle_machine m;
    int rc = 0;
    for (int part = 0; part < 4 && rc == 0; part++) {
        if ((rc = run_pickle(&m, &out->n_bytes, bytes, n_bytes)) == 0)
            rc = part == 0   ? check_version(&m)
                 : part == 1 ? check_machine(&m)
                 : part == 2 ? read_dict(out, &m)
                             : read_order(out, &m);
        pickle_machine_release(&m);
    }
    return rc;
}

void pickle_stream_release(struct pickle_stream *s)
{
    mem_free(s->tensors);
    mem_free(s->storages);
    mem_free(s->order);
    *s = (struct pickle_stream){0};
}
