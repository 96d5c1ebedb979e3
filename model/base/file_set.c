#include "model/base/file_set.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <fcntl.h>
#include <string.h>

int file_set_add(struct file_set *s, struct file file)
{
    const size_t one = sizeof *s->files, bytes = (size_t)s->n * one;
    struct file *grown = mem_grow(s->files, bytes, bytes + one);
    if (grown == NULL) {
        file_close(&file);
        return ERR_NOMEM;
    }
    s->files = grown;
    s->files[s->n++] = file;
    return 0;
}

void file_set_close(struct file_set *s)
{
    for (int i = 0; i < s->n; i++)
        file_close(&s->files[i]);
    mem_free(s->files);
    *s = (struct file_set){0};
}

const struct file *file_set_find(const struct file_set *s, const char *name)
{
    for (int i = 0; s != NULL && i < s->n; i++) {
        const char *slash = strrchr(s->files[i].path, '/');
        if (strcmp(slash == NULL ? s->files[i].path : slash + 1, name) == 0)
            return &s->files[i];
    }
    return NULL;
}

/* Reads are of a place each: the two do not disturb each other. */
static int open_second(struct file *f, const struct file *own)
{
    *f = *own;
    f->path = mem_strdup(own->path);
    f->fd = f->path == NULL ? -1 : fcntl(own->fd, F_DUPFD_CLOEXEC, 0);
    if (f->fd >= 0)
        return 0;
    int rc = f->path == NULL ? ERR_NOMEM : file_fails("open", own->path);
    mem_free(f->path);
    *f = (struct file){.fd = -1};
    return rc;
}

int file_set_open(struct file *f, const struct file_set *s, const char *folder, const char *name)
{
    const struct file *own = file_set_find(s, name);
    if (own != NULL)
        return open_second(f, own);
    char *path = file_join(folder, name);
    int rc = path == NULL ? ERR_NOMEM : file_open(f, path);
    mem_free(path);
    return rc;
}

int file_set_read(struct buf *out, bool *found, const struct file_set *s, const char *folder,
                  const char *name, uint64_t max)
{
    struct file file;
    int rc = file_set_open(&file, s, folder, name);
    *found = rc == 0;
    if (rc != 0)
        return rc == ERR_MISSING ? 0 : rc;
    rc = file_read_whole(out, &file, max);
    file_close(&file);
    return rc;
}
