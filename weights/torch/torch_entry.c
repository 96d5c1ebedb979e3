#include "weights/torch/torch_entry.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdlib.h>
#include <string.h>

int torch_entry_add(struct tensor_file *out, const struct pickle_tensor *t, uint64_t storage_at,
                    uint64_t storage_bytes)
{
    char shown[PICKLE_SHOWN];
    struct tensor_entry *e = &out->entries[out->n];
    if (memchr(t->name, '\0', t->n_name) != NULL)
        return err_set(ERR_FORMAT, "a tensor's name has a NUL in it");
    const uint64_t size = (uint64_t)t->element_bytes;
    if (t->storage_elements > storage_bytes / size)
        return err_set(ERR_FORMAT, "tensor %s: its storage has %llu bytes, expected %llu x %llu",
                       pickle_show(shown, t->name, t->n_name), (unsigned long long)storage_bytes,
                       (unsigned long long)t->storage_elements, (unsigned long long)size);
    e->name = mem_sprintf("%.*s", (int)t->n_name, t->name);
    if (e->name == NULL)
        return ERR_NOMEM;
    out->n++;
    e->dtype = t->dtype;
    e->dtype_name = t->dtype_name;
    e->element_bytes = t->element_bytes;
    e->rank = t->rank;
    memcpy(e->shape, t->shape, sizeof e->shape);
    e->offset = storage_at + t->first * size;
    e->bytes = t->n_elements * size;
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const struct tensor_entry *const *)a)->name,
                  (*(const struct tensor_entry *const *)b)->name);
}

int torch_entries_check(const struct tensor_file *f)
{
    const struct tensor_entry **list = mem_array((size_t)f->n, sizeof *list);
    int rc = list == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < f->n && rc == 0; i++)
        list[i] = &f->entries[i];
    if (rc == 0)
        qsort(list, (size_t)f->n, sizeof *list, compare_names);
    for (int i = 1; i < f->n && rc == 0; i++) {
        char shown[PICKLE_SHOWN];
        if (compare_names(&list[i - 1], &list[i]) == 0)
            rc = err_set(ERR_FORMAT, "it has two tensors %s",
                         file_show(shown, sizeof shown, list[i]->name));
    }
    mem_free(list);
    return rc;
}
