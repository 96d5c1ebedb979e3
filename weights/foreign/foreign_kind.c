#include "weights/foreign/foreign_kind.h"

#include "model/base/err.h"
#include "model/base/json.h"

int foreign_read_sizes(const json_t *o, const struct foreign_size *sizes, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t value = 0;
        int rc = json_take_int(o, sizes[i].key, 1, INT32_MAX, &value);
        if (rc != 0)
            return rc;
        if (value == 0)
            return err_set(ERR_MISSING, "the checkpoint does not say its %s", sizes[i].key);
        *sizes[i].to = (int)value;
    }
    return 0;
}

int foreign_read_dropout(const json_t *o, const char *key, float *to)
{
    double value = 0;
    int rc = json_take_number(o, key, 0, 1, &value);
    *to = (float)value + 0.0f;
    return rc;
}

int foreign_rows(const struct checkpoint *k, const char *name)
{
    const struct hf_entry *e = hf_files_entry(&k->files, name);
    return e == NULL || e->entry->rank != 2 || e->entry->shape[0] > INT32_MAX
               ? 0
               : (int)e->entry->shape[0];
}
