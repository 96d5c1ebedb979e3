#include "weights/tensors/tensor_file.h"

#include "model/base/mem.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

int tensor_file_take(struct tensor_file *f, struct file file, int (*read)(struct tensor_file *f))
{
    *f = (struct tensor_file){.file = file};
    int rc = read(f);
    if (rc != 0) {
        rc = file_wrap(file.path);
        tensor_file_close(f);
    }
    return rc;
}

int tensor_file_open_as(struct tensor_file *f, const char *path,
                        int (*open_file)(struct tensor_file *f, struct file file))
{
    struct file file;
    int rc = file_open(&file, path);
    *f = (struct tensor_file){.file.fd = -1};
    return rc != 0 ? rc : open_file(f, file);
}

void tensor_file_close(struct tensor_file *f)
{
    if (f == NULL)
        return;
    for (int i = 0; i < f->n; i++)
        mem_free(f->entries[i].name);
    mem_free(f->entries);
    json_decref(f->metadata);
    json_decref(f->about);
    file_close(&f->file);
    *f = (struct tensor_file){.file.fd = -1};
}

const struct tensor_entry *tensor_file_find(const struct tensor_file *f, const char *name)
{
    for (int i = 0; i < f->n; i++)
        if (strcmp(f->entries[i].name, name) == 0)
            return &f->entries[i];
    return NULL;
}

const char *tensor_shape_text(char *out, size_t n, const struct tensor_entry *e)
{
    size_t at = (size_t)snprintf(out, n, "[");
    for (int i = 0; i < e->rank && at < n; i++)
        at += (size_t)snprintf(out + at, n - at, "%s%llu", i == 0 ? "" : ",",
                               (unsigned long long)e->shape[i]);
    if (at < n)
        snprintf(out + at, n - at, "]");
    return out;
}
