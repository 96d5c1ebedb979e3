#include "model/base/kept_files.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <string.h>

void kept_files_release(struct kept_files *k)
{
    for (int i = 0; i < k->n; i++)
        mem_free(k->files[i].bytes);
    *k = (struct kept_files){0};
}

int kept_files_add(struct kept_files *k, const char *name, const char *bytes, size_t n)
{
    int at = 0;
    while (at < k->n && strcmp(k->files[at].name, name) != 0)
        at++;
    if (at == KEPT_FILES_MAX)
        return err_set(ERR_RANGE, "more than %d files are kept with a model", KEPT_FILES_MAX);
    char *copy = mem_alloc(n + 1);
    if (copy == NULL)
        return ERR_NOMEM;
    if (n > 0)
        memcpy(copy, bytes, n);
    copy[n] = '\0';
    mem_free(k->files[at].bytes);
    k->files[at] = (struct kept_file){.name = name, .bytes = copy, .n = n};
    k->n += at == k->n;
    return 0;
}

const struct kept_file *kept_files_find(const struct kept_files *k, const char *name)
{
    for (int i = 0; i < k->n; i++)
        if (strcmp(k->files[i].name, name) == 0)
            return &k->files[i];
    return NULL;
}

int kept_files_copy(struct kept_files *k, const struct kept_files *from)
{
    int rc = 0;
    for (int i = 0; i < from->n && rc == 0; i++)
        rc = kept_files_add(k, from->files[i].name, from->files[i].bytes, from->files[i].n);
    if (rc != 0)
        kept_files_release(k);
    return rc;
}

size_t kept_files_bytes(const struct kept_files *k)
{
    size_t n = 0;
    for (int i = 0; i < k->n; i++)
        n += k->files[i].n + 1;
    return n;
}

int kept_files_write(const struct kept_files *k, const char *folder, bool force)
{
    int rc = 0;
    for (int i = 0; i < k->n && rc == 0; i++) {
        char *path = file_join(folder, k->files[i].name);
        rc = path == NULL ? ERR_NOMEM
                          : file_write_whole(path, k->files[i].bytes, k->files[i].n, force);
        mem_free(path);
    }
    return rc;
}
