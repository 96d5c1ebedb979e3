#include "train/data/text_cache_folder.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/file_lock.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"
#include "model/base/sha256.h"
#include "train/data/cache_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STALE_S = 24 * 60 * 60 /* a file that nobody has written to for so long is nobody's */ };

/* Of a set, the one last that makes it one. */
static const char *const endings[] = {".sha256", ".bin", ".idx"};
enum { N_ENDINGS = sizeof endings / sizeof *endings, NAME_BYTES = SHA256_HEX + 8 };

char *text_cache_folder(void)
{
    return file_home(HOME_CACHE, "data");
}

/* The end of a set's name, "" of none: 64 hexadecimal digits stand before it. */
static const char *name_ending(const char *name)
{
    return strspn(name, "0123456789abcdef") == SHA256_HEX - 1 ? name + SHA256_HEX - 1 : "";
}

/* "KEY.bin" of any name of the set. */
static const char *name_in_set(char out[NAME_BYTES], const char *name, const char *ending)
{
    snprintf(out, NAME_BYTES, "%.*s%s", SHA256_HEX - 1, name, ending);
    return out;
}

static bool is_there(int folder, const char *name, const char *ending)
{
    char one[NAME_BYTES];
    return faccessat(folder, name_in_set(one, name, ending), F_OK, 0) == 0;
}

/* ---- what killed processes left ---- */

/* "<key>.bin.XXXXXX.tmp" and the like, or a set without its sum, of somebody who was killed. */
static bool is_of_no_set(int folder, const char *name)
{
    const char *ending = name_ending(name);
    const bool half = (strcmp(ending, ".bin") == 0 || strcmp(ending, ".idx") == 0) &&
                      !is_there(folder, name, ".sha256");
    return half || fnmatch(".*.??????.tmp", ending, 0) == 0;
}

static bool is_stale_file(int folder, const char *name)
{
    struct stat st;
    return is_of_no_set(folder, name) && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_mtim.tv_sec < time(NULL) - STALE_S;
}

void text_cache_sweep(const char *folder)
{
    DIR *dir = opendir(folder);
    for (const char *name; (name = folder_entry_next(dir)) != NULL;)
        if (strcmp(name_ending(name), ".lock") == 0)
            cache_lock_sweep(dirfd(dir), name);
        else if (is_stale_file(dirfd(dir), name))
            unlinkat(dirfd(dir), name, 0);
    folder_entry_close(dir);
}

/* ---- all of it ---- */

void text_cache_count(struct text_cache_amount *out, const char *folder)
{
    *out = (struct text_cache_amount){0};
    DIR *dir = opendir(folder);
    for (const char *name; (name = folder_entry_next(dir)) != NULL;) {
        struct stat st;
        const char *ending = name_ending(name);
        out->sets += strcmp(ending, ".sha256") == 0;
        if (*ending != '\0' && fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            out->bytes += (uint64_t)st.st_size;
    }
    folder_entry_close(dir);
}

static int remove_file(struct text_cache_amount *removed, int folder, const char *name)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    if (unlinkat(folder, name, 0) == 0)
        removed->bytes += (uint64_t)st.st_size;
    else if (errno != ENOENT)
        return file_fails("remove", name);
    return 0;
}

/* The sum first: without it there is no set. */
static int remove_set(struct text_cache_amount *removed, int folder, const char *name)
{
    char one[NAME_BYTES];
    int rc = 0;
    removed->sets++;
    for (int i = 0; i < N_ENDINGS && rc == 0; i++)
        rc = remove_file(removed, folder, name_in_set(one, name, endings[i]));
    return rc;
}

/* A set, or a file of none, with the lock of those that encode it; one that a process has stays. */
static int remove_unlocked(struct text_cache_amount *removed, const char *path, int folder,
                           const char *name)
{
    const bool set = strcmp(name_ending(name), ".sha256") == 0;
    char lock_name[NAME_BYTES];
    char *lock = file_join(path, name_in_set(lock_name, name, ".lock"));
    const int fd = lock == NULL ? -1 : file_lock_take(lock, 0666);
    int rc = lock == NULL ? ERR_NOMEM : 0;
    if (fd >= 0)
        rc = set ? remove_set(removed, folder, name) : remove_file(removed, folder, name);
    if (fd >= 0) {
        unlink(lock);
        close(fd);
    }
    mem_free(lock);
    return rc;
}

int text_cache_clear(struct text_cache_amount *removed, const char *folder)
{
    int rc = 0;
    *removed = (struct text_cache_amount){0};
    text_cache_sweep(folder);
    DIR *dir = opendir(folder);
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;)
        if (strcmp(name_ending(name), ".sha256") == 0 || is_of_no_set(dirfd(dir), name))
            rc = remove_unlocked(removed, folder, dirfd(dir), name);
    folder_entry_close(dir);
    return rc;
}
