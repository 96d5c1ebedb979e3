#include "train/prepare/check_files.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"
#include "train/data/npy.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_BYTES = 200, DEPTH_MAX = 32 };

/* ---- names and sizes ---- */

struct named {
    char *name; /* owned */
    uint64_t bytes;
};

struct listing {
    struct buf files; /* struct named */
    uint64_t bytes;
};

static struct named *named_at(const struct listing *l)
{
    return (struct named *)(void *)l->files.data;
}

static size_t listing_n(const struct listing *l)
{
    return l->files.n / sizeof(struct named);
}

static int list_folder(struct listing *l, const char *folder, int depth);

/* A link to a folder is not followed. */
static int list_entry(struct listing *l, const char *folder, const char *name, int depth)
{
    struct stat st;
    char *path = file_join(folder, name);
    int rc = path == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        rc = list_folder(l, path, depth + 1);
    } else if (rc == 0 && stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
        const struct named one = {mem_strdup(name), (uint64_t)st.st_size};
        rc = one.name == NULL ? ERR_NOMEM : buf_add(&l->files, &one, sizeof one);
        if (rc != 0)
            mem_free(one.name);
        l->bytes += one.bytes;
    }
    mem_free(path);
    return rc;
}

static int list_folder(struct listing *l, const char *folder, int depth)
{
    char shown[NAME_BYTES];
    DIR *dir = opendir(folder);
    int rc = 0;
    if (dir == NULL || depth > DEPTH_MAX) {
        folder_entry_close(dir);
        return dir == NULL
                   ? err_errno("cannot read the folder %s", file_show(shown, sizeof shown, folder))
                   : err_set(ERR_RANGE, "%s: folders are nested more than %d deep",
                             file_show(shown, sizeof shown, folder), DEPTH_MAX);
    }
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;)
        rc = list_entry(l, folder, name, depth);
    folder_entry_close(dir);
    return rc;
}

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int hash_listing(struct check_report *r, struct listing *l)
{
    struct sha256 h;
    char size[32];
    int rc = sha256_init(&h);
    if (rc != 0)
        return rc;
    if (listing_n(l) > 0)
        qsort(l->files.data, listing_n(l), sizeof(struct named), compare_named);
    for (size_t i = 0; i < listing_n(l); i++) {
        const struct named *f = named_at(l) + i;
        sha256_add(&h, size, (size_t)snprintf(size, sizeof size, "%" PRIu64 "\t", f->bytes));
        sha256_add(&h, f->name, strlen(f->name));
        sha256_add(&h, "\n", 1);
    }
    sha256_end_hex(&h, r->sum);
    sha256_release(&h);
    return 0;
}

int check_folder(struct check_report *r, const char *folder)
{
    struct listing l = {0};
    int rc = list_folder(&l, folder, 0);
    if (rc == 0)
        rc = hash_listing(r, &l);
    r->files = listing_n(&l);
    r->bytes = l.bytes;
    for (size_t i = 0; i < listing_n(&l); i++)
        mem_free(named_at(&l)[i].name);
    buf_release(&l.files);
    return rc;
}

/* ---- lists ---- */

/* One row: a path within the folder and its number of ids. */
static int check_row(const char *folder, const char *list, const char *name, const char *length)
{
    char shown[NAME_BYTES], of[NAME_BYTES], *end;
    struct file f;
    struct npy a;
    const uint64_t expected = strtoull(length, &end, 10);
    file_show(shown, sizeof shown, name);
    file_show(of, sizeof of, list);
    if (*length == '\0' || *end != '\0')
        return err_set(ERR_FORMAT, "%s gives no length of %s", of, shown);
    char *path = file_join(folder, name);
    int rc = path == NULL ? ERR_NOMEM : file_open(&f, path);
    if (rc == 0) {
        rc = npy_read(&a, &f);
        if (rc == 0 && a.shape[0] != expected)
            rc = err_set(ERR_MISMATCH, "%s has %" PRIu64 " tokens, %s says %" PRIu64, shown,
                         a.shape[0], of, expected);
        file_close(&f);
    } else if (rc == ERR_MISSING) {
        rc = err_set(ERR_MISMATCH, "%s is not there, which %s names", shown, of);
    }
    mem_free(path);
    return rc;
}

static int check_list(struct check_report *r, const char *folder, const char *list)
{
    char shown[NAME_BYTES];
    struct file f;
    struct npy a;
    struct buf name = {0}, length = {0};
    int rc = file_open(&f, list);
    if (rc != 0)
        return rc;
    if ((rc = npy_read(&a, &f)) == 0 && (a.kind != 'U' || a.rank != 2 || a.shape[1] != 2))
        rc = err_set(ERR_FORMAT, "%s is not a list of files and their lengths",
                     file_show(shown, sizeof shown, list));
    for (uint64_t i = 0; rc == 0 && i < a.shape[0]; i++) {
        rc = npy_text(&name, &a, &f, i, 0);
        if (rc == 0 && (rc = npy_text(&length, &a, &f, i, 1)) == 0)
            rc = check_row(folder, list, buf_text(&name), buf_text(&length));
        r->listed += rc == 0;
    }
    r->lists += rc == 0;
    buf_release(&name);
    buf_release(&length);
    file_close(&f);
    return rc;
}

/* Those in `from` of files in `folder`. */
static int check_lists_of(struct check_report *r, const char *folder, const char *from)
{
    DIR *dir = opendir(from);
    int rc = 0;
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;) {
        if (fnmatch("file_list*.npy", name, 0) != 0)
            continue;
        char *list = file_join(from, name);
        rc = list == NULL ? ERR_NOMEM : check_list(r, folder, list);
        mem_free(list);
    }
    folder_entry_close(dir);
    return rc;
}

int check_lists(struct check_report *r, const char *folder)
{
    char *above = file_join(folder, "..");
    int rc = above == NULL ? ERR_NOMEM : check_lists_of(r, folder, folder);
    if (rc == 0)
        rc = check_lists_of(r, folder, above);
    mem_free(above);
    return rc;
}
