#include "model/base/file_path.h"

#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

bool file_exists_in(const char *folder, const char *name)
{
    char path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path && file_exists(path);
}

bool file_is_same(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool file_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *file_part_there(const char *path)
{
    char *copy = mem_strdup(*path == '\0' ? "." : path);
    char *slash = copy;
    while (slash != NULL && access(copy, F_OK) != 0)
        if ((slash = strrchr(copy, '/')) != NULL)
            slash[slash == copy] = '\0';
    if (copy != NULL && slash == NULL)
        strcpy(copy, ".");
    return copy;
}

int file_check_folder(const char *path)
{
    char *there = file_part_there(path);
    int rc = 0;
    if (there == NULL)
        return ERR_NOMEM;
    if (!file_is_folder(there)) {
        errno = ENOTDIR;
        rc = file_error("make the folder", path);
    } else if (access(there, W_OK | X_OK) != 0) {
        rc = file_error("write in the folder", there);
    }
    mem_free(there);
    return rc;
}

int file_make_folder(const char *path)
{
    char *copy = mem_strdup(path);
    if (copy == NULL)
        return ERR_NOMEM;
    int rc = 0;
    for (char *p = copy + (copy[0] != 0); rc == 0; p++) {
        char end = *p;
        if (end != '/' && end != '\0')
            continue;
        *p = '\0';
        if (mkdir(copy, 0777) != 0 && !(errno == EEXIST && file_is_folder(copy)))
            rc = file_error("make the folder", copy);
        *p = end;
        if (end == '\0')
            break;
    }
    mem_free(copy);
    return rc;
}

char *file_join(const char *folder, const char *name)
{
    size_t n = strlen(folder);
    return mem_sprintf("%s%s%s", folder, n > 0 && folder[n - 1] == '/' ? "" : "/", name);
}

char *file_expand(const char *path)
{
    const char *home = getenv("HOME");
    if (path[0] == '~' && (path[1] == '/' || path[1] == '\0') && home != NULL)
        return mem_sprintf("%s%s", home, path + 1);
    return mem_strdup(path);
}

char *file_home(enum file_home kind, const char *name)
{
    static const struct {
        const char *variable, *fallback;
    } homes[] = {[HOME_CONFIG] = {"XDG_CONFIG_HOME", ".config"},
                 [HOME_DATA] = {"XDG_DATA_HOME", ".local/share"},
                 [HOME_STATE] = {"XDG_STATE_HOME", ".local/state"},
                 [HOME_CACHE] = {"XDG_CACHE_HOME", ".cache"}};
    const char *root = getenv(homes[kind].variable), *home = getenv("HOME");
    /* The specification requires relative paths to be ignored. */
    if (root != NULL && root[0] == '/')
        return mem_sprintf("%s/prattle/%s", root, name);
    if (home != NULL && *home != '\0')
        return mem_sprintf("%s/%s/prattle/%s", home, homes[kind].fallback, name);
    err_set(ERR_MISSING, "neither HOME nor %s is set", homes[kind].variable);
    return NULL;
}

char *file_find_program(const char *name)
{
    const char *list = getenv("PATH");
    char path[PATH_MAX];
    while (list != NULL) {
        const int n = (int)strcspn(list, ":");
        const int used =
            snprintf(path, sizeof path, "%.*s/%s", n > 0 ? n : 1, n > 0 ? list : ".", name);
        if (used < (int)sizeof path && access(path, X_OK) == 0 && !file_is_folder(path))
            return mem_strdup(path);
        list = list[n] == '\0' ? NULL : list + n + 1;
    }
    return NULL;
}
