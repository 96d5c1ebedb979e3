#include "model/base/err.h"
#include "model/base/mem.h"
#include "weights/lookalike.h"
#include "weights/pickle.h"
#include "weights/tensor_file.h"
#include "weights/torch_zip.h"

#include <stdlib.h>
#include <string.h>

enum { PICKLE_MAX_BYTES = 16 << 20, SHOWN = 96 };

/* torch.save before 1.6 wrote pickles one after another, the first a magic number. */
static int refuse_old_format(const struct file *f)
{
    static const char magic[] = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
    char head[2 + sizeof magic - 1];
    if (f->bytes < sizeof head)
        return 0;
    int rc = file_read_at(f, head, 0, sizeof head);
    if (rc != 0 || head[0] != '\x80' || memcmp(head + 2, magic, sizeof magic - 1) != 0)
        return rc;
    return err_set(ERR_UNSUPPORTED,
                   "it is in torch's format from before 1.6, which is not read; this converts "
                   "it: python3 -c \"import sys, torch; f = sys.argv[1]; "
                   "torch.save(torch.load(f, map_location='cpu'), f)\" FILE");
}

/* The one NAME/data.pkl; *prefix gets the bytes of "NAME/". */
static const struct zip_entry *find_pickle(const struct zip *z, size_t *prefix)
{
    for (int i = 0; i < z->n; i++) {
        const char *slash = strchr(z->entries[i].name, '/');
        if (slash != NULL && strcmp(slash, "/data.pkl") == 0) {
            *prefix = (size_t)(slash + 1 - z->entries[i].name);
            return &z->entries[i];
        }
    }
    return NULL;
}

/* NAME/byteorder, where there is one, says "little". */
static int check_byte_order(const struct zip *z, const struct file *f, const char *name)
{
    char order[6] = {0};
    const struct zip_entry *e = zip_find(z, name);
    if (e == NULL)
        return 0;
    int rc = e->bytes == sizeof order ? file_read_at(f, order, e->offset, sizeof order) : 0;
    if (rc == 0 && memcmp(order, "little", sizeof order) != 0)
        return err_set(ERR_UNSUPPORTED, "its numbers are not little-endian");
    return rc;
}

static int add_entry(struct tensor_file *out, const struct zip *z, const char *prefix,
                     const struct pickle_tensor *t)
{
    char shown[SHOWN];
    struct tensor_entry *e = &out->entries[out->n];
    if (memchr(t->name, '\0', t->n_name) != NULL || memchr(t->key, '\0', t->n_key) != NULL)
        return err_set(ERR_FORMAT, "a tensor's name has a NUL in it");
    e->name = mem_sprintf("%.*s", (int)t->n_name, t->name);
    char *path = mem_sprintf("%sdata/%.*s", prefix, (int)t->n_key, t->key);
    if (e->name == NULL || path == NULL) {
        mem_free(path);
        mem_free(e->name);
        return ERR_NOMEM;
    }
    out->n++;
    const struct zip_entry *storage = zip_find(z, path);
    mem_free(path);
    file_show(shown, sizeof shown, e->name);
    uint64_t size = (uint64_t)t->element_bytes;
    if (storage == NULL)
        return err_set(ERR_FORMAT, "tensor %s: its storage is not in the archive", shown);
    if (t->storage_elements > storage->bytes / size)
        return err_set(ERR_FORMAT, "tensor %s: its storage has %llu bytes, expected %llu x %llu",
                       shown, (unsigned long long)storage->bytes,
                       (unsigned long long)t->storage_elements, (unsigned long long)size);
    e->dtype = t->dtype;
    e->dtype_name = t->dtype_name;
    e->element_bytes = t->element_bytes;
    e->rank = t->rank;
    memcpy(e->shape, t->shape, sizeof e->shape);
    e->offset = storage->offset + t->first * size;
    e->bytes = t->n_elements * size;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct tensor_entry *const *)a)->name,
                  (*(const struct tensor_entry *const *)b)->name);
}

static int refuse_twins(const struct tensor_file *f)
{
    const struct tensor_entry **list = mem_array((size_t)f->n, sizeof *list);
    int rc = list == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < f->n && rc == 0; i++)
        list[i] = &f->entries[i];
    if (rc == 0)
        qsort(list, (size_t)f->n, sizeof *list, by_name);
    for (int i = 1; i < f->n && rc == 0; i++) {
        char shown[SHOWN];
        if (by_name(&list[i - 1], &list[i]) == 0)
            rc = err_set(ERR_FORMAT, "it has two tensors %s",
                         file_show(shown, sizeof shown, list[i]->name));
    }
    mem_free(list);
    return rc;
}

static int read_archive(struct tensor_file *out, const struct zip *z)
{
    struct buf pickle = {0};
    struct pickle_tensor *tensors = NULL;
    size_t n_prefix;
    int n = 0;
    const struct zip_entry *data = find_pickle(z, &n_prefix);
    if (data == NULL)
        return err_set(ERR_FORMAT, "it is a zip, but no torch checkpoint: it has no data.pkl");
    if (data->bytes > PICKLE_MAX_BYTES)
        return err_set(ERR_RANGE, "its data.pkl has %llu bytes, at most %d are read",
                       (unsigned long long)data->bytes, PICKLE_MAX_BYTES);
    char *prefix = mem_sprintf("%.*s", (int)n_prefix, data->name);
    char *order = mem_sprintf("%.*sbyteorder", (int)n_prefix, data->name);
    int rc = prefix == NULL || order == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && (rc = check_byte_order(z, &out->file, order)) == 0 &&
        (rc = buf_reserve(&pickle, (size_t)data->bytes)) == 0 &&
        (rc = file_read_at(&out->file, pickle.data, data->offset, (size_t)data->bytes)) == 0)
        rc = pickle_read(&tensors, &n, pickle.data, (size_t)data->bytes);
    if (rc == 0 && n == 0)
        rc = err_set(ERR_FORMAT, "its data.pkl is no dict of tensors");
    if (rc == 0 && (out->entries = mem_array((size_t)n, sizeof *out->entries)) == NULL)
        rc = ERR_NOMEM;
    for (int i = 0; i < n && rc == 0; i++)
        rc = add_entry(out, z, prefix, &tensors[i]);
    if (rc == 0)
        rc = refuse_twins(out);
    mem_free(tensors);
    buf_release(&pickle);
    mem_free(prefix);
    mem_free(order);
    return rc;
}

int torch_open(struct tensor_file *f, const char *path)
{
    struct zip z = {0};
    *f = (struct tensor_file){.file.fd = -1};
    int rc = file_open(&f->file, path);
    if (rc != 0)
        return rc;
    if ((rc = lookalike_refuse(&f->file)) == 0 && (rc = refuse_old_format(&f->file)) == 0 &&
        (rc = zip_open(&z, &f->file)) == 0)
        rc = read_archive(f, &z);
    zip_close(&z);
    if (rc != 0) {
        rc = file_wrap(path);
        tensor_file_close(f);
    }
    return rc;
}
