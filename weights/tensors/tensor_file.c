#include "weights/tensors/tensor_file.h"

#include "model/base/mem.h"
#include "weights/tensors/sniff.h"
#include "weights/torch/pickle.h"

#include <stdio.h>
#include <string.h>

int tensor_file_open(struct tensor_file *f, const char *path)
{
    struct file head;
    int rc = file_open(&head, path);
    if (rc != 0)
        return rc;
    char first[32] = {0};
    const size_t n = head.bytes < sizeof first ? (size_t)head.bytes : sizeof first;
    if ((rc = lookalike_refuse(&head)) == 0)
        rc = file_read_at(&head, first, 0, n);
    file_close(&head);
    if (rc != 0)
        return file_wrap(path);
    bool torch = text_ends_in(path, ".bin") || text_ends_in(path, ".pt") ||
                 text_ends_in(path, ".pth") || memcmp(first, "PK", 2) == 0 ||
                 pickle_is_stream(first, n);
    return torch ? torch_open(f, path) : safetensors_open(f, path);
}

void tensor_file_close(struct tensor_file *f)
{
    if (f == NULL)
        return;
    for (int i = 0; i < f->n; i++)
        mem_free(f->entries[i].name);
    mem_free(f->entries);
    mem_free(f->format);
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
