#include "weights/tensors/folder_place.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SAVE ".prattle-save-"
#define OLD ".prattle-old-"
#define NEW ".prattle-new-"
#define ANY "??????"

/* They are deleted with the old model. Folders of such names are not. The first two make a model of
 * a folder: they go first and come last. */
static const char *const model_files[] = {
    "config.json",
    "adapter_config.json",
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
    "adapter_model.bin",
};
enum { N_KEYS = 2, N_FILES = sizeof model_files / sizeof *model_files, NAME_BYTES = 32 };

static bool is_key_file(const char *name)
{
    for (int i = 0; i < N_KEYS; i++)
        if (strcmp(model_files[i], name) == 0)
            return true;
    return false;
}

bool folder_is_model_file(const char *name)
{
    for (int i = 0; i < N_FILES; i++)
        if (fnmatch(model_files[i], name, 0) == 0)
            return true;
    return false;
}

static bool is_left_name(const char *name)
{
    static const char *const patterns[] = {SAVE ANY, OLD ANY, NEW ANY};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return false;
}

bool folder_is_empty(const char *path)
{
    DIR *dir = opendir(path);
    bool empty = dir != NULL;
    for (const char *name; empty && (name = folder_entry_next(dir)) != NULL;)
        empty = fnmatch(SAVE ANY, name, 0) == 0; /* the other two may have the only whole model */
    folder_entry_close(dir);
    return empty;
}

char *folder_place_temp(const char *path)
{
    return mem_sprintf("%s/" SAVE "XXXXXX", path);
}

int folder_place_lock(const char *temp)
{
    const int fd = open(temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Where there are no locks, nobody sweeps. */
    if (fd >= 0)
        flock(fd, LOCK_EX | LOCK_NB);
    return fd;
}

/* ---- moving files ---- */

/* A folder by its descriptor, read from its beginning. */
static DIR *list_folder(int fd)
{
    const int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = own < 0 ? NULL : fdopendir(own);
    if (dir == NULL && own >= 0)
        close(own);
    return dir;
}

static bool is_folder_at(int folder, const char *name)
{
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int sync_folder(int fd, const char *path)
{
    /* Some file systems cannot sync a folder, and rename without it. */
    return fsync(fd) != 0 && errno != EINVAL ? file_fails("sync", path) : 0;
}

/* Of a model's files, or of `all` there are, move the keys alone or all but them. */
static int move_files(int from, int to, bool keys, bool all)
{
    DIR *dir = list_folder(from);
    int rc = dir == NULL ? file_fails("open", "the folder") : 0;
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;)
        if ((all || folder_is_model_file(name)) && is_key_file(name) == keys &&
            !is_folder_at(from, name) && renameat(from, name, to, name) != 0)
            rc = file_fails("move", name);
    folder_entry_close(dir);
    return rc;
}

/* The keys last. */
static int move_all_in(int from, int there, const char *path)
{
    int rc = move_files(from, there, false, true);
    if (rc == 0 && (rc = sync_folder(there, path)) == 0 &&
        (rc = move_files(from, there, true, true)) == 0)
        rc = sync_folder(there, path);
    return rc;
}

struct place {
    const char *path, *made_path;
    int there, made, old; /* descriptors */
    char old_name[NAME_BYTES], new_name[NAME_BYTES];
    bool out; /* all of the old model is out */
};

static int sync_both(const struct place *p)
{
    const int rc = sync_folder(p->old, p->path);
    return rc == 0 ? sync_folder(p->there, p->path) : rc;
}

static int move_out(struct place *p)
{
    int rc = move_files(p->there, p->old, true, false);
    if (rc == 0 && (rc = sync_both(p)) == 0 &&
        (rc = move_files(p->there, p->old, false, false)) == 0)
        rc = sync_both(p);
    if (rc == 0 && renameat(AT_FDCWD, p->made_path, p->there, p->new_name) != 0)
        rc = file_fails("write", p->path);
    p->out = rc == 0;
    return rc;
}

static int move_in(const struct place *p)
{
    const int rc = sync_folder(p->there, p->path);
    return rc == 0 ? move_all_in(p->made, p->there, p->path) : rc;
}

/* The error stays. What fails here too is left for folder_place_explain. */
static void move_back(const struct place *p)
{
    char text[512];
    const int code = err_last();
    snprintf(text, sizeof text, "%s", err_text());
    int rc = 0;
    if (p->out && (rc = move_files(p->there, p->made, true, false)) == 0 &&
        (rc = move_files(p->there, p->made, false, false)) == 0)
        rc = renameat(p->there, p->new_name, AT_FDCWD, p->made_path);
    if (rc == 0 && (rc = move_files(p->old, p->there, false, true)) == 0)
        rc = move_files(p->old, p->there, true, true);
    if (rc == 0)
        unlinkat(p->there, p->old_name, AT_REMOVEDIR);
    fsync(p->there);
    err_set(code, "%s", text);
}

/* As file_commit has it for a single file. */
static int keep_permissions(const struct place *p)
{
    DIR *dir = list_folder(p->made);
    int rc = dir == NULL ? file_fails("open", p->made_path) : 0;
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;) {
        struct stat was;
        if (fstatat(p->there, name, &was, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(was.st_mode))
            continue;
        const int fd = openat(p->made, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        rc = fd < 0 ? file_fails("open", name)
                    : file_set_permissions(fd, name, was.st_mode & 0777, was.st_uid, was.st_gid);
        if (fd >= 0)
            close(fd);
    }
    folder_entry_close(dir);
    return rc;
}

/* ---- clearing up ---- */

static void remove_folder_at(int parent, const char *name)
{
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd < 0 ? NULL : list_folder(fd);
    for (const char *inner; (inner = folder_entry_next(dir)) != NULL;)
        unlinkat(fd, inner, 0);
    folder_entry_close(dir);
    if (fd >= 0)
        close(fd);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* Whether its writer is no more. The folders of no lock are moved under the lock of all. */
static bool is_left(int parent, const char *name)
{
    if (fnmatch(SAVE ANY, name, 0) != 0)
        return true;
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    const bool left = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    return left;
}

/* What killed writers left, and the old model: the new one is there. */
static void sweep_left(int there)
{
    DIR *dir = list_folder(there);
    for (const char *name; (name = folder_entry_next(dir)) != NULL;)
        if (is_left_name(name) && is_left(there, name))
            remove_folder_at(there, name);
    folder_entry_close(dir);
}

/* ---- what a kill left between two models ---- */

enum { LOCK_TRIES = 100, LOCK_WAIT_NS = 20000000 };

static bool has_key_file(int folder)
{
    for (int i = 0; i < N_KEYS; i++)
        if (faccessat(folder, model_files[i], F_OK, 0) == 0)
            return true;
    return false;
}

/* How many folders of such names are there, and the name of one. */
static int find_left(char found[NAME_BYTES], int there, const char *pattern)
{
    int n = 0;
    DIR *dir = list_folder(there);
    for (const char *name; (name = folder_entry_next(dir)) != NULL;)
        if (fnmatch(pattern, name, 0) == 0) {
            snprintf(found, NAME_BYTES, "%s", name);
            n++;
        }
    folder_entry_close(dir);
    return n;
}

/* Somebody has put a file in the place of one that would move. */
static bool clashes(int from, int to)
{
    DIR *dir = list_folder(from);
    bool any = dir == NULL;
    for (const char *name; !any && (name = folder_entry_next(dir)) != NULL;)
        any = faccessat(to, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    folder_entry_close(dir);
    return any;
}

/* Under the folder's lock. Can itself be cut off anywhere, and done again. */
static enum folder_mended mend_locked(int there, const char *path)
{
    char name[NAME_BYTES] = "";
    if (has_key_file(there))
        return FOLDER_WHOLE;
    /* The new files come in once all of the old are out; until then these go back. */
    const int n_new = find_left(name, there, NEW ANY);
    if (n_new > 1 || (n_new == 0 && find_left(name, there, OLD ANY) != 1))
        return FOLDER_WHOLE;
    const int from = openat(there, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    const bool ours = from >= 0 && (n_new == 0 || has_key_file(from)) && !clashes(from, there);
    const int rc = ours ? move_all_in(from, there, path) : 0;
    if (rc != 0)
        err_clear();
    if (ours && rc == 0)
        sweep_left(there);
    if (from >= 0)
        close(from);
    return !has_key_file(there) ? FOLDER_WHOLE : n_new > 0 ? FOLDER_NEW : FOLDER_OLD;
}

/* A writer or another who mends is soon done. */
static bool lock_soon(int fd)
{
    const struct timespec wait = {.tv_nsec = LOCK_WAIT_NS};
    bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    for (int i = 0; !locked && errno == EWOULDBLOCK && i < LOCK_TRIES; i++) {
        nanosleep(&wait, NULL);
        locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    }
    return locked;
}

enum folder_mended folder_place_mend(const char *path)
{
    char name[NAME_BYTES];
    enum folder_mended done = FOLDER_WHOLE;
    const int there = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (there < 0)
        return done;
    if (!has_key_file(there) &&
        (find_left(name, there, NEW ANY) > 0 || find_left(name, there, OLD ANY) > 0) &&
        lock_soon(there))
        done = mend_locked(there, path);
    close(there);
    return done;
}

/* ---- all of it ---- */

/* ERR_EXISTS: the folder has a folder where the model has a file, and which of the two is to stay
 * is not ours to say. */
static int refuse_clash(const struct place *p)
{
    DIR *dir = list_folder(p->there);
    int rc = dir == NULL ? file_fails("open", p->path) : 0;
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;)
        if (is_folder_at(p->there, name) &&
            faccessat(p->made, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            rc = err_set(ERR_EXISTS,
                         "%s has a folder %s, in the place of a file of the model; "
                         "move it away, or choose another name",
                         file_quote(p->path), file_quote(name));
    folder_entry_close(dir);
    return rc;
}

static int open_place(struct place *p, bool force)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    if ((p->there = open(p->path, flags)) < 0)
        return file_fails("open", p->path);
    /* One writer at a time, where there are locks. */
    int locked;
    while ((locked = flock(p->there, LOCK_EX)) != 0 && errno == EINTR)
        continue;
    if (locked == 0)
        mend_locked(p->there, p->path);
    /* Or this save, killed too, would leave more than one model to choose from. */
    if (locked == 0 && has_key_file(p->there))
        sweep_left(p->there);
    if (!force && !folder_is_empty(p->path))
        return file_refuse(ERR_EXISTS, p->path, "exists already; --force overwrites it");
    if ((p->made = open(p->made_path, flags)) < 0)
        return file_fails("open", p->made_path);
    int rc = refuse_clash(p);
    if (rc == 0)
        rc = keep_permissions(p);
    if (rc == 0 && (mkdirat(p->there, p->old_name, 0700) != 0 ||
                    (p->old = openat(p->there, p->old_name, flags)) < 0))
        rc = file_fails("write", p->path);
    return rc;
}

int folder_place(const char *made, const char *path, bool force)
{
    struct place p = {.path = path, .made_path = made, .there = -1, .made = -1, .old = -1};
    const char *ending = made + strlen(made) - strlen(ANY);
    snprintf(p.old_name, sizeof p.old_name, OLD "%.6s", ending);
    snprintf(p.new_name, sizeof p.new_name, NEW "%.6s", ending);
    int rc = open_place(&p, force);
    if (rc == 0) {
        if ((rc = move_out(&p)) == 0)
            rc = move_in(&p);
        if (rc == 0)
            sweep_left(p.there);
        else
            move_back(&p);
    }
    const int all[] = {p.old, p.made, p.there};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] >= 0)
            close(all[i]);
    return rc;
}

int folder_place_explain(int rc, const char *path)
{
    for (int i = 0; i < N_KEYS; i++)
        if (file_exists_in(path, model_files[i]))
            return rc;
    char found[NAME_BYTES] = "", shown[256];
    DIR *dir = opendir(path);
    const bool at_work = dir != NULL && flock(dirfd(dir), LOCK_SH | LOCK_NB) != 0;
    for (const char *name; !at_work && (name = folder_entry_next(dir)) != NULL;)
        if (fnmatch(NEW ANY, name, 0) == 0 || (*found == '\0' && fnmatch(OLD ANY, name, 0) == 0))
            snprintf(found, sizeof found, "%s", name);
    folder_entry_close(dir);
    if (*found == '\0')
        return rc;
    file_word(shown, sizeof shown, path);
    return err_set(rc,
                   "a program that was saving a model in %s was killed; "
                   "`mv %s/%s/* %s/` brings the %s model back",
                   shown, shown, found, shown, fnmatch(NEW ANY, found, 0) == 0 ? "new" : "old");
}
