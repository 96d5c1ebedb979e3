#include "weights/tensors/folder.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Replacing a folder P through a temporary sibling T:
 *
 *     folder_create    make T                              P: the old folder, or nothing
 *       the caller     files into T, each synced by file_commit
 *     folder_commit    rename T to P                       P: the new folder, if there was none
 *                      else exchange T and P in one step   P: the new folder; T: the old one
 *                      clear T: delete the old model's files, move all others to P, remove T
 *                      sync P's parent
 *
 * P is always a whole folder, the old or the new one, except on file systems that cannot exchange:
 * there it is missing between two renames, and the old one is T.old. What fails after the exchange
 * leaves P new and T with what is left of the old folder.
 */

/* The files of a model, ours or another program's: they are deleted with the old model. Folders of
 * such names are not. */
static const char *const model_files[] = {
    "config.json",
    "generation_config.json",
    "model*.safetensors",
    "model*.safetensors.index.json",
    "adapter_model.safetensors",
    "pytorch_model*.bin",
    "pytorch_model*.bin.index.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "spiece.model",
    "special_tokens_map.json",
    "chat_template.jinja",
    "added_tokens.json",
    "prattle.yaml",
    "adapter_config.json",
    "adapter_model.bin",
};

static bool is_model_file(const char *name)
{
    for (size_t i = 0; i < sizeof model_files / sizeof *model_files; i++)
        if (fnmatch(model_files[i], name, 0) == 0)
            return true;
    return false;
}

static bool is_empty_folder(const char *path)
{
    DIR *dir = opendir(path);
    bool empty = dir != NULL && folder_entry_next(dir) == NULL;
    folder_entry_close(dir);
    return empty;
}

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
    if (exists && !file_is_folder(path))
        return file_refuse(ERR_EXISTS, path, "exists and is not a folder; choose another name");
    if (exists && !force && !is_empty_folder(path))
        return file_refuse(ERR_EXISTS, path, "exists already; --force overwrites it");
    return 0;
}

int folder_create(struct folder_writer *f, const char *path, bool force)
{
    *f = (struct folder_writer){.force = force};
    const int refused = folder_check(path, force);
    if (refused != 0)
        return refused;
    if ((f->path = folder_real_path(path)) == NULL ||
        (f->temp = mem_sprintf("%s.tmp.XXXXXX", f->path)) == NULL) {
        mem_free(f->path);
        *f = (struct folder_writer){0};
        return ERR_NOMEM;
    }
    if (mkdtemp(f->temp) == NULL) {
        int rc = file_fails("write", path);
        mem_free(f->temp);
        f->temp = NULL;
        folder_abandon(f);
        return rc;
    }
    return 0;
}

static bool is_folder_at(int folder, const char *name)
{
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* ERR_EXISTS: the old folder has a folder where the new one has a file, and which of the two is to
 * stay is not ours to say. */
static int refuse_clash(const char *temp, const char *path)
{
    DIR *old = opendir(path);
    int made = open(temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    if (old == NULL || made < 0)
        rc = file_fails("open", old == NULL ? path : temp);
    for (const char *name; rc == 0 && (name = folder_entry_next(old)) != NULL;)
        if (is_folder_at(dirfd(old), name) && faccessat(made, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            rc = err_set(ERR_EXISTS,
                         "%s has a folder %s, in the place of a file of the model; "
                         "move it away, or choose another name",
                         file_quote(path), file_quote(name));
    if (made >= 0)
        close(made);
    folder_entry_close(old);
    return rc;
}

/* Remove the model's files (or `all`) from the folder `from`, move the others to `to` (NULL: leave
 * them), and remove the folder, which fails if something is left. */
static int clear_folder(const char *from, const char *to, bool all)
{
    DIR *dir = opendir(from);
    if (dir == NULL)
        return file_fails("open", from);
    int rc = 0, there = dirfd(dir);
    int target = to == NULL ? -1 : open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;)
        if (all || (is_model_file(name) && !is_folder_at(there, name)))
            rc = unlinkat(there, name, 0) == 0 ? 0 : file_fails("remove", name);
        else if (to != NULL)
            rc = renameat(there, name, target, name) == 0 ? 0 : file_fails("move", name);
    if (target >= 0)
        close(target);
    folder_entry_close(dir);
    if (rc == 0 && rmdir(from) != 0)
        rc = file_fails("remove", from);
    return rc;
}

/* Exchange the names of two folders, in one step where the file system can. */
static int exchange_folders(const char *temp, const char *path)
{
    if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return file_fails("write", path);
    char *aside = mem_sprintf("%s.old", temp);
    if (aside == NULL)
        return ERR_NOMEM;
    int rc = 0;
    if (rename(path, aside) != 0) {
        rc = file_fails("write", path);
    } else if (rename(temp, path) != 0) {
        rc = file_fails("write", path);
        rename(aside, path);
    } else if (rename(aside, temp) != 0) {
        rc = file_fails("move", aside);
    }
    mem_free(aside);
    return rc;
}

int folder_commit(struct folder_writer *f)
{
    mode_t mask = umask(0);
    umask(mask);
    if (chmod(f->temp, 0777 & ~mask) != 0)
        return file_fails("write", f->path);
    int rc = 0;
    /* Succeeds if there is nothing at the path, or an empty folder. */
    bool fresh = rename(f->temp, f->path) == 0;
    if (!fresh) {
        if (errno != ENOTEMPTY && errno != EEXIST)
            return file_fails("write", f->path);
        if (!f->force)
            return file_refuse(ERR_EXISTS, f->path, "exists already; --force overwrites it");
        if ((rc = refuse_clash(f->temp, f->path)) != 0 ||
            (rc = exchange_folders(f->temp, f->path)) != 0)
            return rc;
        rc = clear_folder(f->temp, f->path, false);
    }
    if (rc == 0)
        rc = file_sync_parent(f->path);
    /* Without the sync the rename may not last: undo it, so that the caller can try again. */
    if (rc != 0 && fresh && rename(f->path, f->temp) == 0)
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
        int code = err_last();
        char *text = mem_strdup(err_text());
        clear_folder(f->temp, NULL, f->any_files);
        if (text != NULL)
            err_set(code, "%s", text);
        mem_free(text);
    }
    mem_free(f->temp);
    mem_free(f->path);
    *f = (struct folder_writer){0};
}
