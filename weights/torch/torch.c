#include "weights/torch/torch.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "weights/tensors/sniff.h"
#include "weights/torch/pickle.h"
#include "weights/torch/pickle_stream.h"
#include "weights/torch/torch_entry.h"
#include "weights/torch/torch_legacy.h"
#include "weights/torch/torch_zip.h"

#include <string.h>

/* torch before 0.1.10 wrote a tar of four files. */
static int refuse_tar(const struct file *f)
{
    static const char magic[] = "ustar";
    enum { AT = 257 };
    char found[sizeof magic - 1];
    if (f->bytes < AT + sizeof found)
        return 0;
    const int rc = file_read_at(f, found, AT, sizeof found);
    if (rc != 0 || memcmp(found, magic, sizeof found) != 0)
        return rc;
    return err_set(ERR_UNSUPPORTED,
                   "it is a tar, torch's format from before 0.1.10, which is not read; this "
                   "converts it: python3 -c \"import sys, torch; f = sys.argv[1]; "
                   "torch.save(torch.load(f, map_location='cpu'), f)\" FILE");
}

static int is_legacy(bool *out, const struct file *f)
{
    char head[32];
    const size_t n = f->bytes < sizeof head ? (size_t)f->bytes : sizeof head;
    const int rc = file_read_at(f, head, 0, n);
    *out = rc == 0 && pickle_is_stream(head, n);
    return rc;
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
    char shown[PICKLE_SHOWN];
    char *path = mem_sprintf("%sdata/%.*s", prefix, (int)t->n_key, t->key);
    if (path == NULL)
        return ERR_NOMEM;
    const struct zip_entry *storage = zip_find(z, path);
    mem_free(path);
    if (memchr(t->key, '\0', t->n_key) != NULL || storage == NULL)
        return err_set(ERR_FORMAT, "tensor %s: its storage is not in the archive",
                       pickle_show(shown, t->name, t->n_name));
    return torch_entry_add(out, t, storage->offset, storage->bytes);
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
    if (data->bytes > TORCH_PICKLE_MAX_BYTES)
        return err_set(ERR_RANGE, "its data.pkl has %llu bytes, at most %d are read",
                       (unsigned long long)data->bytes, TORCH_PICKLE_MAX_BYTES);
    char *prefix = mem_sprintf("%.*s", (int)n_prefix, data->name);
    char *order = mem_sprintf("%.*sbyteorder", (int)n_prefix, data->name);
    int rc = prefix == NULL || order == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && (rc = check_byte_order(z, &out->file, order)) == 0 &&
        (rc = buf_reserve(&pickle, (size_t)data->bytes)) == 0 &&
        (rc = file_read_at(&out->file, pickle.data, data->offset, (size_t)data->bytes)) == 0)
        rc = pickle_read(&tensors, &n, &out->about, pickle.data, (size_t)data->bytes);
    if (rc == 0 && n == 0)
        rc = err_set(ERR_FORMAT, "its data.pkl is not a dict of tensors");
    if (rc == 0 && (out->entries = mem_array((size_t)n, sizeof *out->entries)) == NULL)
        rc = ERR_NOMEM;
    for (int i = 0; i < n && rc == 0; i++)
        rc = add_entry(out, z, prefix, &tensors[i]);
    if (rc == 0)
        rc = torch_entries_check(out);
    mem_free(tensors);
    buf_release(&pickle);
    mem_free(prefix);
    mem_free(order);
    return rc;
}

/* Of the open file in f. */
static int read_tensors(struct tensor_file *f)
{
    struct zip z = {0};
    bool legacy = false;
    int rc = sniff_refuse(&f->file);
    if (rc == 0 && (rc = refuse_tar(&f->file)) == 0)
        rc = is_legacy(&legacy, &f->file);
    if (rc == 0 && legacy)
        rc = torch_legacy_read(f);
    else if (rc == 0 && (rc = zip_open(&z, &f->file)) == 0)
        rc = read_archive(f, &z);
    zip_close(&z);
    return rc;
}

int torch_open_file(struct tensor_file *f, struct file file)
{
    return tensor_file_take(f, file, read_tensors);
}
