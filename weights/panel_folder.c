#include "weights/panel_folder.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

char *panel_folder_path(void)
{
    return file_home(HOME_CACHE, "panels");
}

/* ---- the list ---- */

/* Whether the name is a key, with this ending behind it. */
static bool is_entry_name(const char *name, const char *ending)
{
    return strspn(name, "0123456789abcdef") == PANEL_KEY_BYTES &&
           strcmp(name + PANEL_KEY_BYTES, ending) == 0;
}

static int compare_used(const void *a, const void *b)
{
    const struct panel_listed *x = a, *y = b;
    if (x->used != y->used)
        return x->used < y->used ? 1 : -1;
    return strcmp(x->key, y->key);
}

static int add_entry(struct panel_list *l, size_t *cap, const char *name, const struct stat *st,
                     const struct panel_header *header)
{
    if (l->n == *cap) {
        const size_t more = 2 * *cap + 16;
        struct panel_listed *grown =
            mem_grow(l->entries, *cap * sizeof *grown, more * sizeof *grown);
        if (grown == NULL)
            return ERR_NOMEM;
        l->entries = grown;
        *cap = more;
    }
    struct panel_listed *e = &l->entries[l->n++];
    *e = (struct panel_listed){
        .bytes = (uint64_t)st->st_size, .used = st->st_mtim.tv_sec, .header = *header};
    memcpy(e->key, name, PANEL_KEY_BYTES);
    l->bytes += e->bytes;
    return 0;
}

int panel_folder_list(struct panel_list *out, const char *folder)
{
    size_t cap = 0;
    int rc = 0;
    DIR *dir = opendir(folder);
    *out = (struct panel_list){0};
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;) {
        struct stat st;
        struct panel_header header = {0};
        if (!is_entry_name(name, "") || fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode))
            continue;
        char *path = file_join(folder, name);
        /* A damaged one is listed without a name: it takes room, and can be cleared. */
        rc = path == NULL ? ERR_NOMEM : 0;
        if (rc == 0 && panel_file_look(&header, path) == ERR_NOMEM)
            rc = ERR_NOMEM;
        if (rc == 0)
            rc = add_entry(out, &cap, name, &st, &header);
        mem_free(path);
    }
    folder_entry_close(dir);
    if (out->n > 0)
        qsort(out->entries, out->n, sizeof *out->entries, compare_used);
    if (rc != 0)
        panel_list_release(out);
    return rc;
}

void panel_list_release(struct panel_list *l)
{
    mem_free(l->entries);
    *l = (struct panel_list){0};
}

int panel_folder_drop(const char *folder, const char *key)
{
    char *path = file_join(folder, key);
    int rc = path == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && unlink(path) != 0)
        rc = file_error("delete", path);
    mem_free(path);
    return rc == ERR_MISSING ? 0 : rc;
}

/* ---- room ---- */

/* Delete what killed writers left: files of theirs that nobody has locked. */
static void sweep_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    for (const char *name; (name = folder_entry_next(dir)) != NULL;) {
        if (!is_entry_name(name, ".tmp"))
            continue;
        int fd = openat(dirfd(dir), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(dir), name, 0);
        if (fd >= 0)
            close(fd);
    }
    folder_entry_close(dir);
}

static int make_folder(const char *folder)
{
    if (file_is_folder(folder))
        return 0;
    int rc = file_make_folder(folder);
    /* Weights may be readable by their owner alone. */
    if (rc == 0 && chmod(folder, 0700) != 0)
        rc = file_error("make the folder", folder);
    return rc;
}

/* The disk keeps as much room again. */
static int check_disk(const char *folder, uint64_t bytes)
{
    struct statvfs disk;
    if (statvfs(folder, &disk) != 0)
        return file_error("look at", folder);
    return (uint64_t)disk.f_bavail * disk.f_frsize / 2 >= bytes
               ? 0
               : err_set(ERR_IO, "no room for the panel cache");
}

int panel_folder_prepare(const char *folder, uint64_t bytes, uint64_t limit)
{
    struct panel_list list;
    if (bytes > limit)
        return err_set(ERR_RANGE, "no room for the panel cache");
    int rc = make_folder(folder);
    if (rc == 0)
        rc = panel_folder_list(&list, folder);
    if (rc != 0)
        return rc;
    sweep_folder(folder);
    while (rc == 0 && list.n > 0 && list.bytes > limit - bytes) {
        const struct panel_listed *oldest = &list.entries[--list.n];
        list.bytes -= oldest->bytes;
        rc = panel_folder_drop(folder, oldest->key);
    }
    panel_list_release(&list);
    return rc == 0 ? check_disk(folder, bytes) : rc;
}
