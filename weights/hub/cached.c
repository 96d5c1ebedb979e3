#include "weights/hub/cached.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"
#include "weights/hub/environment.h"
#include "weights/hub/lock.h"
#include "weights/hub/repository.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 8 };

/* How folders of the cache begin, and names of what they are. */
static const struct {
    const char *folder, *name;
} kinds[] = {{"models--", ""}, {"datasets--", "datasets/"}, {"spaces--", "spaces/"}};

static void release_cached(struct cached *c)
{
    mem_free(c->name);
    mem_free(c->folder);
    buf_release(&c->revisions);
}

void cached_list_release(struct cached_list *l)
{
    for (int i = 0; i < l->n; i++)
        release_cached(&l->all[i]);
    mem_free(l->all);
    *l = (struct cached_list){0};
}

/* "openai-community/gpt2" of "models--openai-community--gpt2"; NULL without an error: no such
 * folder. */
static char *name_of(const char *entry)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t n = strlen(kinds[i].folder);
        if (strncmp(entry, kinds[i].folder, n) != 0 || entry[n] == '\0')
            continue;
        const char *owner = strstr(entry + n, "--");
        return owner == NULL ? mem_sprintf("%s%s", kinds[i].name, entry + n)
                             : mem_sprintf("%s%.*s/%s", kinds[i].name,
                                           (int)(owner - entry - (int)n), entry + n, owner + 2);
    }
    return NULL;
}

/* Add up the files of a folder; links are none of them. */
static int count_files(struct cached *c, const char *folder, int depth)
{
    int rc = 0;
    DIR *d = opendir(folder);
    for (const char *name; rc == 0 && (name = folder_entry_next(d)) != NULL;) {
        struct stat st;
        char *path = file_join(folder, name);
        if (path == NULL) {
            rc = ERR_NOMEM;
        } else if (lstat(path, &st) != 0) {
        } else if (S_ISDIR(st.st_mode) && depth < DEEPEST) {
            rc = count_files(c, path, depth + 1);
        } else if (S_ISREG(st.st_mode)) {
            const time_t last = st.st_atime > st.st_mtime ? st.st_atime : st.st_mtime;
            c->bytes += (uint64_t)st.st_size;
            c->in_part |= st.st_size > 0 && text_ends_in(name, ".incomplete");
            c->used = st.st_size > 0 && last > c->used ? last : c->used;
        } else if (S_ISLNK(st.st_mode)) {
            c->in_part |= stat(path, &st) != 0;
        }
        mem_free(path);
    }
    folder_entry_close(d);
    return rc;
}

/* "main 607a30d" for each ref; refs in folders, as pull requests have them, have their path. */
static int list_refs(struct cached *c, const char *folder, const char *before, int depth)
{
    int rc = 0;
    DIR *d = opendir(folder);
    for (const char *name; rc == 0 && (name = folder_entry_next(d)) != NULL;) {
        struct buf commit = {0};
        char *path = file_join(folder, name), *ref = mem_sprintf("%s%s", before, name);
        if (path == NULL || ref == NULL) {
            rc = ERR_NOMEM;
        } else if (file_is_folder(path) && depth < DEEPEST) {
            char *deeper = mem_sprintf("%s/", ref);
            rc = deeper == NULL ? ERR_NOMEM : list_refs(c, path, deeper, depth + 1);
            mem_free(deeper);
        } else if (file_read_all(&commit, path, 256) == 0 && commit.n >= HUB_SHORT_COMMIT) {
            rc = buf_printf(&c->revisions, "%s%s %.*s", c->revisions.n > 0 ? ", " : "", ref,
                            HUB_SHORT_COMMIT, commit.data);
        }
        buf_release(&commit);
        mem_free(path);
        mem_free(ref);
    }
    folder_entry_close(d);
    return rc;
}

/* The commits that no ref names. */
static int list_commits(struct cached *c, const char *folder)
{
    int rc = 0;
    DIR *d = opendir(folder);
    for (const char *name; rc == 0 && (name = folder_entry_next(d)) != NULL;) {
        char part[HUB_SHORT_COMMIT + 1];
        snprintf(part, sizeof part, "%s", name);
        if (hub_is_commit(name) && strstr(buf_text(&c->revisions), part) == NULL)
            rc = buf_printf(&c->revisions, "%s%s", c->revisions.n > 0 ? ", " : "", part);
    }
    folder_entry_close(d);
    return rc;
}

static int read_cached(struct cached *c, char *name, const char *cache, const char *entry)
{
    *c = (struct cached){.name = name, .folder = file_join(cache, entry)};
    if (c->folder == NULL)
        return ERR_NOMEM;
    char *refs = file_join(c->folder, "refs"), *snapshots = file_join(c->folder, "snapshots");
    int rc = refs == NULL || snapshots == NULL ? ERR_NOMEM : count_files(c, c->folder, 0);
    if (rc == 0)
        rc = list_refs(c, refs, "", 0);
    if (rc == 0)
        rc = list_commits(c, snapshots);
    mem_free(refs);
    mem_free(snapshots);
    return rc;
}

/* Whether there is no entry of a commit. */
static bool is_without_commits(const char *snapshots)
{
    bool is = true;
    DIR *d = opendir(snapshots);
    for (const char *name; is && (name = folder_entry_next(d)) != NULL;)
        is = !hub_is_commit(name);
    folder_entry_close(d);
    return is;
}

/* Notes of files that are not on the Hub may be all that there is. */
static bool holds_nothing(const struct cached *c)
{
    char *blobs = file_join(c->folder, "blobs"), *snapshots = file_join(c->folder, "snapshots");
    DIR *d = blobs == NULL ? NULL : opendir(blobs);
    const bool nothing = blobs != NULL && snapshots != NULL && folder_entry_next(d) == NULL &&
                         is_without_commits(snapshots);
    folder_entry_close(d);
    mem_free(blobs);
    mem_free(snapshots);
    return nothing;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct cached *)a)->name, ((const struct cached *)b)->name);
}

/* whole: those that hold nothing too. */
static int read_list(struct cached_list *l, bool whole)
{
    *l = (struct cached_list){0};
    char *cache = hub_cache_path();
    if (cache == NULL)
        return err_last();
    int rc = 0;
    DIR *d = opendir(cache);
    for (const char *entry; rc == 0 && (entry = folder_entry_next(d)) != NULL;) {
        char *name = name_of(entry);
        if (name == NULL)
            continue;
        struct cached *grown =
            mem_grow(l->all, (size_t)l->n * sizeof *grown, (size_t)(l->n + 1) * sizeof *grown);
        if (grown == NULL) {
            mem_free(name);
            rc = ERR_NOMEM;
            break;
        }
        l->all = grown;
        struct cached *c = &l->all[l->n++];
        rc = read_cached(c, name, cache, entry);
        if (rc == 0 && !whole && holds_nothing(c))
            release_cached(&l->all[--l->n]);
    }
    folder_entry_close(d);
    mem_free(cache);
    if (rc != 0)
        cached_list_release(l);
    else if (l->n > 1)
        qsort(l->all, (size_t)l->n, sizeof *l->all, compare_names);
    return rc;
}

int cached_list_read(struct cached_list *l)
{
    return read_list(l, false);
}

/* ---- removal ---- */

/* A folder and all in it, or a link to one; *bytes grows by its files. */
static int remove_folder(uint64_t *bytes, const char *folder, int depth)
{
    int rc = 0;
    struct stat own;
    if (lstat(folder, &own) == 0 && S_ISLNK(own.st_mode))
        return unlink(folder) == 0 ? 0 : file_fails("remove", folder);
    DIR *d = opendir(folder);
    if (d == NULL)
        return errno == ENOENT ? 0 : file_fails("open", folder);
    for (const char *name; rc == 0 && (name = folder_entry_next(d)) != NULL;) {
        struct stat st;
        char *path = file_join(folder, name);
        if (path == NULL) {
            rc = ERR_NOMEM;
        } else if (lstat(path, &st) != 0) {
            rc = file_fails("look at", path);
        } else if (S_ISDIR(st.st_mode)) {
            rc = depth < DEEPEST ? remove_folder(bytes, path, depth + 1)
                                 : err_set(ERR_IO, "%s is too deep a folder", file_quote(path));
        } else if (unlink(path) != 0) {
            rc = file_fails("remove", path);
        } else if (S_ISREG(st.st_mode)) {
            *bytes += (uint64_t)st.st_size;
        }
        mem_free(path);
    }
    folder_entry_close(d);
    if (rc == 0 && rmdir(folder) != 0)
        rc = file_fails("remove", folder);
    return rc;
}

static int remove_in(uint64_t *bytes, const char *folder, const char *name)
{
    char *path = file_join(folder, name);
    int rc = path == NULL ? ERR_NOMEM : remove_folder(bytes, path, 0);
    mem_free(path);
    return rc;
}

/* What names others goes first, so that nothing looks whole that is not. */
static int remove_repository(uint64_t *bytes, const char *folder)
{
    static const char *const order[] = {"refs", "snapshots", ".no_exist", "blobs"};
    struct stat st;
    int rc = 0;
    const bool own = lstat(folder, &st) == 0 && S_ISDIR(st.st_mode);
    for (size_t i = 0; own && i < sizeof order / sizeof *order && rc == 0; i++)
        rc = remove_in(bytes, folder, order[i]);
    return rc == 0 ? remove_folder(bytes, folder, 0) : rc;
}

/* The refs that are of a commit. */
static int remove_refs(const char *folder, const char *commit, int depth)
{
    int rc = 0;
    DIR *d = opendir(folder);
    for (const char *name; rc == 0 && (name = folder_entry_next(d)) != NULL;) {
        struct buf text = {0};
        char *path = file_join(folder, name);
        if (path == NULL)
            rc = ERR_NOMEM;
        else if (file_is_folder(path) && depth < DEEPEST)
            rc = remove_refs(path, commit, depth + 1);
        else if (file_read_all(&text, path, 256) == 0 &&
                 strncmp(buf_text(&text), commit, 40) == 0 && unlink(path) != 0)
            rc = file_fails("remove", path);
        buf_release(&text);
        mem_free(path);
    }
    folder_entry_close(d);
    return rc;
}

/* Whether a file of any snapshot is a link to the blob. */
static bool blob_is_linked(const char *folder, const char *blob, int depth)
{
    bool is = false;
    DIR *d = opendir(folder);
    for (const char *name; !is && (name = folder_entry_next(d)) != NULL;) {
        char target[PATH_MAX], *path = file_join(folder, name);
        const ssize_t n = path == NULL ? -1 : readlink(path, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        const char *slash = strrchr(target, '/');
        is = path == NULL || (slash != NULL && strcmp(slash + 1, blob) == 0) ||
             (n < 0 && depth < DEEPEST && blob_is_linked(path, blob, depth + 1));
        mem_free(path);
    }
    folder_entry_close(d);
    return is;
}

/* The blobs that no snapshot has any more; parts of files stay. */
static int remove_loose_blobs(uint64_t *bytes, const char *blobs, const char *snapshots)
{
    int rc = 0;
    DIR *d = opendir(blobs);
    for (const char *name; rc == 0 && (name = folder_entry_next(d)) != NULL;) {
        struct stat st;
        if (text_ends_in(name, ".incomplete") || blob_is_linked(snapshots, name, 0))
            continue;
        char *path = file_join(blobs, name);
        if (path == NULL)
            rc = ERR_NOMEM;
        else if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            rc = unlink(path) != 0 ? file_fails("remove", path) : 0;
            *bytes += rc == 0 ? (uint64_t)st.st_size : 0;
        }
        mem_free(path);
    }
    folder_entry_close(d);
    return rc;
}

static int remove_revision(uint64_t *bytes, const struct hub_repository *r, const char *revision)
{
    char commit[HUB_COMMIT_BYTES], shown[160];
    hub_repository_commit(r, commit, revision);
    char *snapshot = hub_repository_snapshot(r, commit), *refs = file_join(r->folder, "refs"),
         *snapshots = file_join(r->folder, "snapshots"), *blobs = file_join(r->folder, "blobs"),
         *lacking = mem_sprintf("%s/.no_exist/%s", r->folder, commit);
    int rc =
        snapshot == NULL || refs == NULL || snapshots == NULL || blobs == NULL || lacking == NULL
            ? ERR_NOMEM
            : 0;
    if (rc == 0 && (commit[0] == '\0' || !file_exists(snapshot)))
        rc = err_set(ERR_MISSING,
                     "revision %s is not in the cache; `:hub` lists the revisions that are",
                     file_show(shown, sizeof shown, revision));
    if (rc == 0)
        rc = remove_refs(refs, commit, 0);
    if (rc == 0)
        rc = remove_folder(bytes, snapshot, 0);
    if (rc == 0)
        rc = remove_folder(bytes, lacking, 0);
    if (rc == 0)
        rc = is_without_commits(snapshots) ? remove_repository(bytes, r->folder)
                                           : remove_loose_blobs(bytes, blobs, snapshots);
    mem_free(snapshot);
    mem_free(refs);
    mem_free(snapshots);
    mem_free(blobs);
    mem_free(lacking);
    return rc;
}

/* The name of a list's entry without what kind it is of. */
static const char *without_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t n = strlen(kinds[i].name);
        if (n > 0 && strncmp(name, kinds[i].name, n) == 0)
            return name + n;
    }
    return name;
}

/* By the name that the list has. */
static int find_cached(char **folder, const char *name)
{
    struct cached_list l;
    int rc = read_list(&l, true);
    *folder = NULL;
    for (int i = 0; i < l.n && rc == 0 && *folder == NULL; i++)
        if (strcmp(l.all[i].name, name) == 0 && (*folder = mem_strdup(l.all[i].folder)) == NULL)
            rc = ERR_NOMEM;
    cached_list_release(&l);
    if (rc == 0 && *folder == NULL)
        rc = err_set(ERR_MISSING, "%s is not in the cache; `:hub` lists what is", file_quote(name));
    return rc;
}

/* What a process downloads would be taken from under it. */
static int check_downloads(const char *folder, const char *name)
{
    const char *entry = strrchr(folder, '/') + 1;
    char *locks = mem_sprintf("%.*s.locks/%s", (int)(entry - folder), folder, entry);
    int rc = locks == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && hub_lock_is_held(locks))
        rc = err_set(ERR_EXISTS, "another process is downloading %s", file_quote(name));
    mem_free(locks);
    return rc;
}

int cached_remove(uint64_t *bytes, const char *name)
{
    struct hub_name n;
    char *folder = NULL, *plain = mem_sprintf("%.*s", (int)strcspn(name, "@"), name);
    int rc = plain == NULL ? ERR_NOMEM : find_cached(&folder, plain);
    *bytes = 0;
    if (rc == 0)
        rc = check_downloads(folder, plain);
    if (rc == 0 && strchr(name, '@') == NULL) {
        rc = remove_repository(bytes, folder);
    } else if (rc == 0 && (rc = hub_name_read(&n, without_kind(name))) == 0) {
        const struct hub_repository r = {.folder = folder};
        rc = remove_revision(bytes, &r, n.revision);
    }
    mem_free(plain);
    mem_free(folder);
    return rc;
}
