#include "weights/hub/repository.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"
#include "weights/hub/environment.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MODELS[] = "models--";
enum { MAX_REF = 256 };

int hub_repository_init(struct hub_repository *r, const char *id)
{
    *r = (struct hub_repository){0};
    const char *slash = strchr(id, '/');
    char *cache = hub_cache_path();
    if (cache == NULL)
        return err_last();
    char *name = slash == NULL
                     ? mem_sprintf("%s%s", MODELS, id)
                     : mem_sprintf("%s%.*s--%s", MODELS, (int)(slash - id), id, slash + 1);
    if (name != NULL) {
        r->folder = file_join(cache, name);
        r->locks = mem_sprintf("%s/.locks/%s", cache, name);
    }
    mem_free(name);
    mem_free(cache);
    if (r->folder != NULL && r->locks != NULL)
        return 0;
    hub_repository_release(r);
    return ERR_NOMEM;
}

void hub_repository_release(struct hub_repository *r)
{
    mem_free(r->folder);
    mem_free(r->locks);
    *r = (struct hub_repository){0};
}

/* The one snapshot whose commit begins so, as lists show commits; "": none, or several. */
static void find_short(const struct hub_repository *r, char commit[HUB_COMMIT_BYTES],
                       const char *digits)
{
    const size_t n = strlen(digits);
    char *snapshots = file_join(r->folder, "snapshots");
    DIR *d = snapshots == NULL ? NULL : opendir(snapshots);
    int found = 0;
    for (const char *name; (name = folder_entry_next(d)) != NULL;)
        if (hub_is_commit(name) && strncmp(name, digits, n) == 0 && found++ == 0)
            snprintf(commit, HUB_COMMIT_BYTES, "%s", name);
    folder_entry_close(d);
    mem_free(snapshots);
    if (found != 1)
        commit[0] = '\0';
}

/* A ref is 40 digits; whatever else stands there is none. */
void hub_repository_commit(const struct hub_repository *r, char commit[HUB_COMMIT_BYTES],
                           const char *revision)
{
    struct buf text = {0};
    commit[0] = '\0';
    char *path = mem_sprintf("%s/refs/%s", r->folder, revision);
    if (path != NULL && file_exists(path) && file_read_all(&text, path, MAX_REF) == 0) {
        while (text.n > 0 && strchr(" \r\n", text.data[text.n - 1]) != NULL)
            text.data[--text.n] = '\0';
        if (hub_is_commit(buf_text(&text)))
            snprintf(commit, HUB_COMMIT_BYTES, "%s", text.data);
    }
    if (commit[0] == '\0' && hub_is_commit(revision))
        snprintf(commit, HUB_COMMIT_BYTES, "%s", revision);
    const size_t digits = strspn(revision, "0123456789abcdef");
    if (commit[0] == '\0' && digits >= HUB_SHORT_COMMIT && revision[digits] == '\0')
        find_short(r, commit, revision);
    buf_release(&text);
    mem_free(path);
}

char *hub_repository_snapshot(const struct hub_repository *r, const char *commit)
{
    return mem_sprintf("%s/snapshots/%s", r->folder, commit);
}

char *hub_repository_blob(const struct hub_repository *r, const char *etag)
{
    return mem_sprintf("%s/blobs/%s", r->folder, etag);
}

/* Whether folder/part/commit/file is a regular file, links followed. */
static bool has_file(const struct hub_repository *r, const char *part, const char *commit,
                     const char *file)
{
    char path[PATH_MAX];
    struct stat st;
    const int n = snprintf(path, sizeof path, "%s/%s/%s/%s", r->folder, part, commit, file);
    return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool hub_repository_has(const struct hub_repository *r, const char *commit, const char *file)
{
    return has_file(r, "snapshots", commit, file);
}

bool hub_repository_lacks(const struct hub_repository *r, const char *commit, const char *file)
{
    return has_file(r, ".no_exist", commit, file);
}

/* Make the folder that a path is in. */
static int make_parent(const char *path)
{
    char *folder = mem_sprintf("%.*s", (int)(strrchr(path, '/') - path), path);
    const int rc = folder == NULL ? ERR_NOMEM : file_make_folder(folder);
    mem_free(folder);
    return rc;
}

int hub_repository_set_commit(const struct hub_repository *r, const char *revision,
                              const char *commit)
{
    char now[HUB_COMMIT_BYTES];
    hub_repository_commit(r, now, revision);
    if (strcmp(revision, commit) == 0 || strcmp(now, commit) == 0)
        return 0;
    char *path = mem_sprintf("%s/refs/%s", r->folder, revision);
    int rc = path == NULL ? ERR_NOMEM : make_parent(path);
    if (rc == 0)
        rc = file_write_whole(path, commit, strlen(commit), true);
    mem_free(path);
    return rc;
}

int hub_repository_set_lacking(const struct hub_repository *r, const char *commit, const char *file)
{
    if (hub_repository_lacks(r, commit, file))
        return 0;
    char *path = mem_sprintf("%s/.no_exist/%s/%s", r->folder, commit, file);
    int rc = path == NULL ? ERR_NOMEM : make_parent(path);
    if (rc == 0)
        rc = file_write_whole(path, "", 0, true);
    mem_free(path);
    return rc;
}

int hub_repository_link(const struct hub_repository *r, const char *commit, const char *file,
                        const char *etag)
{
    char now[PATH_MAX];
    char *path = mem_sprintf("%s/snapshots/%s/%s", r->folder, commit, file),
         *target = mem_sprintf("../../blobs/%s", etag);
    int rc = path == NULL || target == NULL ? ERR_NOMEM : make_parent(path);
    if (rc == 0) {
        const ssize_t n = readlink(path, now, sizeof now - 1);
        now[n > 0 ? n : 0] = '\0';
        const bool right = strcmp(now, target) == 0;
        if (!right && ((unlink(path) != 0 && errno != ENOENT) || symlink(target, path) != 0))
            rc = file_error("link", path);
    }
    if (rc == 0)
        rc = file_sync_parent(path);
    mem_free(path);
    mem_free(target);
    return rc;
}

/* .../models--ORG--NAME/snapshots/COMMIT */
char *hub_snapshot_id(const char *path)
{
    char real[PATH_MAX];
    if (realpath(path, real) == NULL)
        return NULL;
    char *commit = strrchr(real, '/');
    *commit++ = '\0';
    char *snapshots = strrchr(real, '/');
    if (snapshots == NULL || strcmp(snapshots, "/snapshots") != 0 || !hub_is_commit(commit))
        return NULL;
    *snapshots = '\0';
    const char *name = strrchr(real, '/');
    if (name == NULL || strncmp(++name, MODELS, sizeof MODELS - 1) != 0)
        return NULL;
    name += sizeof MODELS - 1;
    const char *owner = strstr(name, "--");
    return owner == NULL ? mem_strdup(name)
                         : mem_sprintf("%.*s/%s", (int)(owner - name), name, owner + 2);
}
