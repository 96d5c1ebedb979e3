#include "train/prepare/placing.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/file_lock.h"
#include "model/base/folder_entry.h"
#include "model/base/json.h"
#include "model/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOTE_MOST = 4096, DESCRIPTION = 64 };
const char placing_name[] = "placing.json";

/* What a file keeps when it takes its place, "inode.born"; an inode alone may be used again. false:
 * there is none. */
static bool describe_file(char out[DESCRIPTION], int folder, const char *path, int flags)
{
    struct statx file;
    if (statx(folder, path, flags, STATX_INO | STATX_BTIME, &file) != 0)
        return false;
    snprintf(out, DESCRIPTION, "%llu.%lld.%09u", (unsigned long long)file.stx_ino,
             (long long)file.stx_btime.tv_sec, file.stx_btime.tv_nsec);
    return (file.stx_mask & STATX_BTIME) != 0;
}

int placing_write(const char *folder, const char *key, const int *fds, size_t n)
{
    struct buf text = {0};
    char file[DESCRIPTION];
    const char *comma = "";
    char *path = file_join(folder, placing_name);
    int rc = path == NULL ? ERR_NOMEM : buf_printf(&text, "{\"key\": \"%s\", \"files\": [", key);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (describe_file(file, fds[i], "", AT_EMPTY_PATH)) {
            rc = buf_printf(&text, "%s\"%s\"", comma, file);
            comma = ", ";
        }
    if (rc == 0)
        rc = buf_str(&text, "]}\n");
    if (rc == 0)
        rc = file_write_whole(path, text.data, text.n, true);
    buf_release(&text);
    mem_free(path);
    return rc;
}

static int take_back(const char *path, const json_t *files)
{
    char there[DESCRIPTION];
    size_t i;
    const json_t *file;
    if (!describe_file(there, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW))
        return 0;
    json_array_foreach((json_t *)(uintptr_t)files, i, file)
    {
        const char *noted = json_string_value(file);
        if (noted != NULL && strcmp(noted, there) == 0)
            return unlink(path) == 0 || errno == ENOENT ? 0 : file_error("delete", path);
    }
    return 0;
}

/* The lock of the folder (store.h), held so that no process is placing these now; -1: one is, or
 * there is none. */
static int hold_lock(const char *folder)
{
    char *path = file_join(folder, "lock");
    const int fd = path == NULL ? -1 : file_lock_take(path, 0666);
    mem_free(path);
    return fd;
}

static int take_back_file(const char *folder, const char *key, const char *path)
{
    json_t *note = NULL;
    const char *noted = "";
    char *note_path = file_join(folder, placing_name);
    int rc = note_path == NULL ? ERR_NOMEM : 0, lock = -1;
    if (rc == 0 && file_exists(note_path) && (lock = hold_lock(folder)) >= 0 &&
        json_read_file(&note, note_path, NOTE_MOST) == 0 &&
        json_take_text(note, "key", &noted) == 0 && strcmp(noted, key) == 0)
        rc = take_back(path, json_object_get(note, "files"));
    if (lock >= 0)
        close(lock);
    json_decref(note);
    mem_free(note_path);
    return rc;
}

int placing_take_back(const char *folder, const char *key, enum output_format f, const char *path)
{
    int rc = 0;
    char *file;
    for (int i = 0; rc == 0 && (file = output_file(f, path, i)) != NULL; i++) {
        rc = take_back_file(folder, key, file);
        mem_free(file);
    }
    return rc;
}

char *placing_folder(const char *out, const char *work)
{
    const char *slash = strrchr(out, '/'), *name = slash == NULL ? out : slash + 1;
    return mem_sprintf("%.*s.%s.%s", (int)(name - out), out, name, work);
}

int placing_begin(int *lock, const char *folder)
{
    int rc = file_make_folder(folder);
    *lock = rc == 0 ? hold_lock(folder) : -1;
    return rc == 0 && *lock < 0
               ? file_refuse(ERR_EXISTS, folder, "is in use by another process, or not writable")
               : rc;
}

/* The note last: until then, a kill leaves what the same command takes back. */
void placing_end(int lock, const char *folder)
{
    DIR *dir = lock < 0 ? NULL : opendir(folder);
    const size_t n = strlen(placing_name);
    if (dir == NULL)
        return;
    for (const char *one; (one = folder_entry_next(dir)) != NULL;)
        if (strncmp(one, placing_name, n) == 0 && one[n] == '.')
            unlinkat(dirfd(dir), one, 0);
    unlinkat(dirfd(dir), "lock", 0);
    unlinkat(dirfd(dir), placing_name, 0);
    folder_entry_close(dir);
    rmdir(folder);
    close(lock);
}
