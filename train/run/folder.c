/*
 * The names in a run's folder. A checkpoint changes its name by rename alone, so step-N is always
 * whole:
 *
 *   step-000400.tmp*          being written or removed; swept when a trainer opens the folder
 *   .nameless-XXXXXX          a working file, where files cannot be without a name; swept likewise
 *   metrics.jsonl.XXXXXX.tmp  the metrics of a run that is resumed (metrics.c); swept likewise
 *   step-000400               whole
 *   step-000400.aside[-2...]  newer than the step from which the run was resumed; left to the user
 *   lock                      flock by the trainer at work, and its process number
 */
#include "train/run/folder.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/file_lock.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN = 256, MOST_ASIDE = 1000 };

static const char LOCK[] = "lock";

/* ---- the lock ---- */

/* Who holds it, -1: it does not say. */
static long read_holder(int lock)
{
    char who[32] = "";
    long pid = pread(lock, who, sizeof who - 1, 0) > 0 ? strtol(who, NULL, 10) : 0;
    return pid > 0 ? pid : -1;
}

static int refuse_second(int lock, const char *path)
{
    char shown[SHOWN], who[32];
    const long pid = read_holder(lock);
    file_show(shown, sizeof shown, path);
    snprintf(who, sizeof who, pid > 0 ? " (process %ld)" : "", pid);
    return err_set(ERR_EXISTS,
                   "cannot train in %s: another prattle%s has the run open; leave it there, or "
                   "train in another folder with folder=DIR",
                   shown, who);
}

/* Who only looks whether it is held has it for an instant. */
static bool try_lock(int fd)
{
    const struct timespec instant = {.tv_nsec = 20000000};
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno != EWOULDBLOCK)
        return false;
    nanosleep(&instant, NULL); /* a signal ends it earlier: no matter */
    return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* The file stays when the lock goes, but for a run that has not begun (run_folder_undo): one that
 * found it before it went looks again. */
static int take_lock(int *lock, bool *made, const char *path)
{
    char *name = file_join(path, LOCK);
    if (name == NULL)
        return ERR_NOMEM;
    int fd = -1, rc = 0;
    do {
        if (fd >= 0)
            close(fd);
        *made = !file_exists(name);
        fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
        if (fd < 0)
            rc = file_fails("write", name);
        else if (!try_lock(fd))
            rc = errno == EWOULDBLOCK ? refuse_second(fd, path) : file_fails("lock", name);
    } while (rc == 0 && !file_lock_counts(fd, name));
    mem_free(name);
    if (rc != 0 && fd >= 0)
        close(fd);
    if (rc != 0)
        return rc;
    char who[32];
    int n = snprintf(who, sizeof who, "%ld\n", (long)getpid());
    /* For people only: the lock holds without it. */
    if (ftruncate(fd, 0) != 0 || pwrite(fd, who, (size_t)n, 0) != n)
        errno = 0;
    *lock = fd;
    return 0;
}

long run_folder_holder(const char *path)
{
    char *name = file_join(path, LOCK);
    int fd = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    long pid =
        fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK ? read_holder(fd) : 0;
    mem_free(name);
    if (fd >= 0)
        close(fd);
    return pid;
}

/* ---- what is in it ---- */

static int remove_folder(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        int rc = file_fails("open", name);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    int rc = 0;
    for (const char *inner; rc == 0 && (inner = folder_entry_next(dir)) != NULL;)
        if (unlinkat(fd, inner, 0) != 0)
            rc = file_fails("remove", inner);
    folder_entry_close(dir);
    if (rc == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0)
        rc = file_fails("remove", name);
    return rc;
}

/* What was being written, or removed, when its trainer was killed. What does not go, such as a
 * folder that somebody made in there, is in nobody's way. */
static void sweep_folder(const char *path)
{
    DIR *dir = opendir(path);
    for (const char *name; (name = folder_entry_next(dir)) != NULL;)
        if (fnmatch("step-[0-9]*.tmp*", name, 0) == 0)
            remove_folder(dirfd(dir), name);
        else if (fnmatch(".nameless-??????", name, 0) == 0 ||
                 fnmatch("metrics.jsonl.??????.tmp", name, 0) == 0)
            unlinkat(dirfd(dir), name, 0);
    folder_entry_close(dir);
    err_clear();
}

/* Cut path to the folder above it, "": there is none. */
static void cut_to_parent(char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    path[n] = '\0';
}

/* How much of path there is. */
static size_t find_there(const char *path)
{
    char *above = mem_strdup(path);
    size_t n = above == NULL ? strlen(path) : 0;
    while (above != NULL && n == 0 && *above != '\0') {
        if (file_exists(above))
            n = strlen(above);
        else
            cut_to_parent(above);
    }
    mem_free(above);
    return n;
}

int run_folder_open(struct run_folder *f, const char *path)
{
    *f = (struct run_folder){.lock = -1, .there = find_there(path)};
    char *copy = mem_strdup(path);
    int rc = copy == NULL ? ERR_NOMEM : file_make_folder(path);
    if (rc == 0)
        rc = take_lock(&f->lock, &f->made_lock, path);
    if (rc != 0) {
        mem_free(copy);
        return rc;
    }
    sweep_folder(path);
    f->path = copy;
    return 0;
}

int run_folder_restore(struct run_folder *f, bool *gone)
{
    int lock, rc;
    bool made;
    *gone = !file_is_folder(f->path);
    if (!*gone)
        return 0;
    if ((rc = file_make_folder(f->path)) != 0 || (rc = take_lock(&lock, &made, f->path)) != 0)
        return rc;
    close(f->lock);
    f->lock = lock;
    return 0;
}

void run_folder_close(struct run_folder *f)
{
    if (f == NULL || f->path == NULL)
        return;
    close(f->lock);
    mem_free(f->path);
    *f = (struct run_folder){.lock = -1};
}

void run_folder_undo(struct run_folder *f)
{
    const bool made = f->path != NULL && strlen(f->path) > f->there;
    char *lock = f->path != NULL && f->made_lock ? file_join(f->path, LOCK) : NULL;
    if (lock != NULL && unlink(lock) == 0 && made)
        while (strlen(f->path) > f->there && rmdir(f->path) == 0)
            cut_to_parent(f->path);
    mem_free(lock);
    run_folder_close(f);
}

bool run_folder_has_checkpoint(const char *path)
{
    int64_t *steps;
    int n, rc = run_folder_steps(path, &steps, &n);
    mem_free(steps);
    return rc == 0 && n > 0;
}

/* When the newest checkpoint in a run's folder was written; false: there is none. */
static bool newest_checkpoint_time(struct timespec *when, const char *path)
{
    int64_t *steps;
    int n;
    struct stat st;
    if (run_folder_steps(path, &steps, &n) != 0 || n == 0)
        return false;
    char *newest = run_folder_checkpoint(path, steps[0]);
    mem_free(steps);
    bool there = newest != NULL && stat(newest, &st) == 0;
    mem_free(newest);
    if (there)
        *when = st.st_mtim;
    return there;
}

int run_folder_latest(char **out, const char *parent)
{
    struct timespec latest = {0}, when;
    char shown[256];
    *out = NULL;
    DIR *dir = opendir(parent);
    if (dir == NULL)
        return errno == ENOENT ? err_set(ERR_MISSING, "there is no folder %s here",
                                         file_show(shown, sizeof shown, parent))
                               : file_fails("open", parent);
    for (const char *name; (name = folder_entry_next(dir)) != NULL;) {
        char *path = name[0] == '.' ? NULL : file_join(parent, name);
        bool later = path != NULL && newest_checkpoint_time(&when, path) &&
                     (*out == NULL || when.tv_sec > latest.tv_sec ||
                      (when.tv_sec == latest.tv_sec && when.tv_nsec > latest.tv_nsec));
        char *drop = later ? *out : path;
        if (later) {
            *out = path;
            latest = when;
        }
        mem_free(drop);
    }
    folder_entry_close(dir);
    return *out != NULL ? 0
                        : err_set(ERR_MISSING, "there is no checkpoint in the folders of %s",
                                  file_show(shown, sizeof shown, parent));
}

int run_folder_explain(int rc, const char *parent)
{
    char shown[2][256], *newest = NULL, *why = mem_strdup(err_text());
    if (why != NULL && !run_folder_has_checkpoint(parent) && file_is_folder(parent) &&
        run_folder_latest(&newest, parent) == 0)
        err_set(rc, "%s is a folder of runs; the newest is %s",
                file_show(shown[0], sizeof shown[0], parent),
                file_word(shown[1], sizeof shown[1], newest));
    else if (why != NULL)
        err_set(rc, "%s", why);
    mem_free(newest);
    mem_free(why);
    return rc;
}

/* Under a name that sweep knows first: a half-removed checkpoint is never seen as one. */
static int remove_checkpoint(const struct run_folder *f, int64_t step)
{
    char *path = run_folder_checkpoint(f->path, step);
    char *gone = path == NULL ? NULL : mem_sprintf("%s.tmp-removed", path);
    int rc = gone == NULL              ? ERR_NOMEM
             : rename(path, gone) == 0 ? remove_folder(AT_FDCWD, gone)
                                       : file_fails("remove", path);
    mem_free(path);
    mem_free(gone);
    return rc;
}

int run_folder_replace(const struct run_folder *f, int64_t step, const char *made)
{
    char shown[SHOWN], *path = run_folder_checkpoint(f->path, step);
    struct err_kept kept;
    if (path == NULL)
        return ERR_NOMEM;
    int rc = 0;
    if (renameat2(AT_FDCWD, made, AT_FDCWD, path, RENAME_EXCHANGE) != 0)
        rc = errno == EINVAL || errno == ENOSYS || errno == EXDEV
                 ? err_set(ERR_UNSUPPORTED, "%s is on a file system that cannot exchange names",
                           file_show(shown, sizeof shown, path))
                 : file_fails("rename", path);
    if (rc == 0)
        rc = file_sync_parent(path);
    err_keep(&kept);
    (void)remove_folder(AT_FDCWD, made); /* what stays is swept later */
    err_restore(&kept);
    mem_free(path);
    return rc;
}

int run_folder_prune(const struct run_folder *f, int64_t newest, int keep, int64_t best)
{
    int64_t *steps;
    int n, seen = 0, rc = run_folder_steps(f->path, &steps, &n);
    for (int i = 0; i < n && rc == 0; i++) {
        seen += steps[i] <= newest;
        if (keep > 0 && seen > keep && steps[i] < newest && steps[i] != best)
            rc = remove_checkpoint(f, steps[i]);
    }
    mem_free(steps);
    return rc;
}

static int rename_aside(const struct run_folder *f, int64_t step)
{
    char *path = run_folder_checkpoint(f->path, step);
    if (path == NULL)
        return ERR_NOMEM;
    int rc = ERR_EXISTS;
    for (int i = 1; rc == ERR_EXISTS && i < MOST_ASIDE; i++) {
        char *aside = i == 1 ? mem_sprintf("%s.aside", path) : mem_sprintf("%s.aside-%d", path, i);
        if (aside == NULL)
            rc = ERR_NOMEM;
        else if (!file_exists(aside))
            rc = rename(path, aside) == 0 ? 0 : file_fails("rename", path);
        mem_free(aside);
    }
    mem_free(path);
    return rc;
}

int run_folder_set_aside(const struct run_folder *f, int64_t step, int *n)
{
    int64_t *steps;
    int all, rc = run_folder_steps(f->path, &steps, &all);
    *n = 0;
    for (int i = 0; i < all && rc == 0 && steps[i] > step; i++)
        if ((rc = rename_aside(f, steps[i])) == 0)
            ++*n;
    mem_free(steps);
    return rc;
}
