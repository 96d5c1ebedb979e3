#include "weights/torch/torch_legacy.h"

#include "model/base/err.h"
#include "model/base/little_endian.h"
#include "model/base/mem.h"
#include "weights/torch/pickle_stream.h"
#include "weights/torch/torch_entry.h"

enum { COUNT_BYTES = 8 };

/* Storages follow the pickles, each after its number of elements. */
static int place_storages(uint64_t *offsets, const struct pickle_stream *s, const struct file *f)
{
    uint64_t at = s->n_bytes;
    for (int i = 0; i < s->n_storages; i++) {
        char shown[PICKLE_SHOWN];
        unsigned char count[COUNT_BYTES];
        const struct pickle_storage_id *id = &s->storages[s->order[i]];
        const uint64_t size = (uint64_t)id->element_bytes;
        if (f->bytes - at < COUNT_BYTES)
            return err_set(ERR_FORMAT, "the file ends at byte %llu, before storage %s",
                           (unsigned long long)f->bytes, pickle_show(shown, id->key, id->n_key));
        const int rc = file_read_at(f, count, at, COUNT_BYTES);
        if (rc != 0)
            return rc;
        const uint64_t n = le64_at(count);
        at += COUNT_BYTES;
        if (n != id->elements)
            return err_set(ERR_FORMAT, "storage %s has %llu elements, expected %llu",
                           pickle_show(shown, id->key, id->n_key), (unsigned long long)n,
                           (unsigned long long)id->elements);
        if (n > (f->bytes - at) / size)
            return err_set(
                ERR_FORMAT, "storage %s of %llu x %llu bytes at %llu ends beyond byte %llu",
                pickle_show(shown, id->key, id->n_key), (unsigned long long)n,
                (unsigned long long)size, (unsigned long long)at, (unsigned long long)f->bytes);
        offsets[s->order[i]] = at;
        at += n * size;
    }
    return 0;
}

static int add_entries(struct tensor_file *out, const struct pickle_stream *s)
{
    uint64_t *offsets = mem_array((size_t)s->n_storages + 1, sizeof *offsets);
    out->entries = mem_array((size_t)s->n_tensors, sizeof *out->entries);
    int rc = offsets == NULL || out->entries == NULL ? ERR_NOMEM
                                                     : place_storages(offsets, s, &out->file);
    for (int i = 0; i < s->n_tensors && rc == 0; i++) {
        const struct pickle_tensor *t = &s->tensors[i];
        const int k = pickle_stream_find(s, t->key, t->n_key);
        rc = torch_entry_add(out, t, offsets[k],
                             s->storages[k].elements * (uint64_t)t->element_bytes);
    }
    mem_free(offsets);
    return rc;
}

int torch_legacy_read(struct tensor_file *out)
{
    const uint64_t bytes = out->file.bytes;
    const size_t n =
        bytes < TORCH_PICKLE_MAX_BYTES ? (size_t)bytes : (size_t)TORCH_PICKLE_MAX_BYTES;
    struct pickle_stream stream = {0};
    char *head = mem_alloc(n);
    int rc = head == NULL ? ERR_NOMEM : file_read_at(&out->file, head, 0, n);
    if (rc == 0)
        rc = pickle_stream_read(&stream, head, n);
    out->about = stream.about;
    if (rc == 0 && stream.n_tensors == 0)
        rc = err_set(ERR_FORMAT, "its pickle is not a dict of tensors");
    if (rc == 0 && (rc = add_entries(out, &stream)) == 0)
        rc = torch_entries_check(out);
    pickle_stream_release(&stream);
    mem_free(head);
    return rc;
}
