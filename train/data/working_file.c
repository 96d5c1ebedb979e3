#include "train/data/working_file.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { BLOCK_BYTES = 1 << 18, SHOWN = 160 };

static char *cache_folder(void)
{
    char *folder = file_home(HOME_CACHE, "data");
    /* One that was made once may since be on a disk that is read only. */
    int rc = folder == NULL ? err_last() : file_make_folder(folder);
    if (rc == 0 && access(folder, W_OK | X_OK) != 0)
        rc = file_error("write in the folder", folder);
    if (rc == 0)
        return folder;
    mem_free(folder);
    return NULL;
}

/* Anybody may have made a folder of this name where everybody may write. */
static int make_own_folder(bool *made, const char *path)
{
    struct stat st;
    *made = mkdir(path, 0700) == 0;
    if (!*made && errno != EEXIST)
        return file_error("make the folder", path);
    if (lstat(path, &st) != 0)
        return file_error("look at", path);
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 022) == 0
               ? 0
               : file_refuse(ERR_IO, path, "is not a folder that you alone may write in");
}

static char *stand_in_folder(const struct progress *p)
{
    const char *set = getenv("TMPDIR");
    char *own = mem_sprintf("%s/prattle-%ld", set != NULL && *set != '\0' ? set : "/var/tmp",
                            (long)geteuid());
    char *folder = own == NULL ? NULL : file_join(own, "data");
    char why[SHOWN + SHOWN], shown[SHOWN];
    bool made = false;
    snprintf(why, sizeof why, "%s", err_text());
    int rc = folder == NULL ? ERR_NOMEM : make_own_folder(&made, own);
    if (rc == 0)
        rc = file_make_folder(folder);
    if (rc == 0 && made)
        progress_note(p, "%s; %s is used for encoded texts (XDG_CACHE_HOME=DIR names another)", why,
                      file_show(shown, sizeof shown, folder));
    mem_free(own);
    if (rc == 0)
        return folder;
    mem_free(folder);
    err_wrap("no folder for encoded texts (XDG_CACHE_HOME=DIR names one): %s; nor in its place",
             why);
    return NULL;
}

char *working_folder(const struct progress *p)
{
    char *folder = cache_folder();
    return folder != NULL || err_last() == ERR_NOMEM ? folder : stand_in_folder(p);
}

char *working_shared(const char *name)
{
    char *folder = file_home(HOME_CACHE, "data"), *path = NULL, *sum = NULL;
    if (folder != NULL && file_is_folder(folder) && access(folder, W_OK | X_OK) != 0 &&
        (path = file_join(folder, name)) != NULL)
        sum = mem_sprintf("%s.sha256", path);
    if (sum == NULL || access(sum, R_OK) != 0) {
        mem_free(path);
        path = NULL;
    }
    mem_free(sum);
    mem_free(folder);
    err_clear();
    return path;
}

int working_file_open(struct file *f, const char *folder, const char *name)
{
    *f = (struct file){.path = (char *)(uintptr_t)name, .fd = file_open_nameless(folder)};
    return f->fd < 0 ? file_error("write in", folder) : 0;
}

void working_file_close(struct file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    *f = (struct file){.fd = -1};
}

static int check_room(const struct file *f, const char *folder, uint64_t bytes)
{
    struct statvfs disk;
    char name[SHOWN], shown[SHOWN];
    if (fstatvfs(f->fd, &disk) != 0 || disk.f_frsize == 0)
        return 0; /* writing will tell */
    if (bytes <= disk.f_bavail * disk.f_frsize)
        return 0;
    return err_set(ERR_IO, "no room to unpack %s: %s has %.0f MB free, it needs %.0f MB",
                   file_show(name, sizeof name, f->path), file_show(shown, sizeof shown, folder),
                   (double)(disk.f_bavail * disk.f_frsize) / 1e6,
                   (double)(f->bytes + bytes) / 1e6 + 1);
}

int working_file_fill(struct file *f, const char *folder, uint64_t expected,
                      int (*read)(void *user, char *dst, size_t n, size_t *got), void *user)
{
    char *block = mem_alloc(BLOCK_BYTES);
    size_t got = BLOCK_BYTES;
    int rc = block == NULL ? ERR_NOMEM : check_room(f, folder, expected);
    while (rc == 0 && got == BLOCK_BYTES) {
        rc = read(user, block, BLOCK_BYTES, &got);
        if (rc == 0)
            rc = check_room(f, folder, got);
        if (rc == 0)
            rc = file_write_fd(f->fd, block, got);
        f->bytes += rc == 0 ? got : 0;
    }
    mem_free(block);
    return rc;
}
