#include "weights/tensors/folder.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"
#include "weights/tensors/folder_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A folder that is not there is written as a temporary sibling and renamed in one step, so that it
 * is whole or missing. In one that is there the files are replaced (folder_place.h).
 */

char *folder_real_path(const char *path)
{
    char *resolved = realpath(path, NULL);
    char *copy = mem_strdup(resolved == NULL ? path : resolved);
    free(resolved);
    for (size_t n = copy == NULL ? 0 : strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
        copy[n - 1] = '\0';
    return copy;
}

int folder_check(const char *path, bool force)
{
    const bool exists = file_exists(path);
    if (exists)
        folder_place_mend(path);
    if (exists && !file_is_folder(path))
        return file_refuse(ERR_EXISTS, path, "exists and is not a folder; choose another name");
    if (exists && !force && !folder_is_empty(path))
        return file_refuse(ERR_EXISTS, path, "exists already; --force overwrites it");
    return 0;
}

int folder_create(struct folder_writer *f, const char *path, bool force)
{
    *f = (struct folder_writer){.force = force, .lock = -1};
    const int refused = folder_check(path, force);
    if (refused != 0)
        return refused;
    const bool inside = file_is_folder(path);
    if ((f->path = folder_real_path(path)) == NULL ||
        (f->temp = inside ? folder_place_temp(f->path) : mem_sprintf("%s.tmp.XXXXXX", f->path)) ==
            NULL) {
        mem_free(f->path);
        *f = (struct folder_writer){.lock = -1};
        return ERR_NOMEM;
    }
    if (mkdtemp(f->temp) == NULL) {
        int rc = file_fails("write", path);
        mem_free(f->temp);
        f->temp = NULL;
        folder_abandon(f);
        return rc;
    }
    f->lock = inside ? folder_place_lock(f->temp) : -1;
    return 0;
}

/* Remove the model's files (or `all`) from the folder, and the folder, which fails if something is
 * left. */
static int clear_folder(const char *path, bool all)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return file_fails("open", path);
    int rc = 0, there = dirfd(dir);
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;)
        if (all || folder_is_model_file(name))
            rc = unlinkat(there, name, 0) == 0 ? 0 : file_fails("remove", name);
    folder_entry_close(dir);
    if (rc == 0 && rmdir(path) != 0)
        rc = file_fails("remove", path);
    return rc;
}

/* mkdtemp's permissions are its owner's alone; a group that is inherited stays so. */
static int open_permissions(const char *path)
{
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    return stat(path, &st) == 0 && chmod(path, (0777 & ~mask) | (st.st_mode & S_ISGID)) == 0
               ? 0
               : file_fails("write", path);
}

int folder_commit(struct folder_writer *f)
{
    int rc = 0;
    bool fresh = false;
    if (!file_exists(f->path)) {
        if ((rc = open_permissions(f->temp)) != 0)
            return rc;
        fresh = rename(f->temp, f->path) == 0;
        if (!fresh && errno != ENOTEMPTY && errno != EEXIST)
            return file_fails("write", f->path);
    }
    rc = fresh ? file_sync_parent(f->path) : folder_place(f->temp, f->path, f->force);
    /* Without the sync the rename may not last: undo it, so that the caller can try again. */
    if (rc != 0 && (!fresh || rename(f->path, f->temp) == 0))
        return rc;
    mem_free(f->temp);
    f->temp = NULL;
    folder_abandon(f);
    return rc;
}

void folder_abandon(struct folder_writer *f)
{
    if (f == NULL)
        return;
    if (f->temp != NULL) {
        /* Keep the message of what failed before. */
        struct err_kept why;
        err_keep(&why);
        clear_folder(f->temp, f->any_files);
        err_restore(&why);
    }
    /* Its lock last: nobody sweeps what is being removed. */
    if (f->path != NULL && f->lock >= 0)
        close(f->lock);
    mem_free(f->temp);
    mem_free(f->path);
    *f = (struct folder_writer){.lock = -1};
}
