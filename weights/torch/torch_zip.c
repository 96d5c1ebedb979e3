#include "weights/torch/torch_zip.h"

#include "model/base/err.h"
#include "model/base/little_endian.h"
#include "model/base/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/*
 * The file, read from its end:
 *
 *     entry ... entry | directory | zip64 end record, locator | end record, comment
 *
 *   1. find_directory  the end record, before a comment of up to 65535 bytes; it says where the
 *                      directory is, unless a locator before it points to a zip64 end record
 *   2. read_entry      one record of the directory for each entry: name, sizes, offset
 *   3. find_bytes      the entry's own header at that offset, whose length gives that of its bytes
 *
 * Names stay in the directory's buffer: each moves to the front of its record, which has been read
 * by then, to make room for a NUL.
 */

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    CENTRAL_BYTES = 46,
    LOCAL_BYTES = 30,
    COMMENT_MAX = 0xffff,
    SHOWN = 96
};
#define DIRECTORY_MAX_BYTES ((uint64_t)64 << 20)

/* Where the central directory is, and its number of records. */
struct directory {
    uint64_t offset, bytes, n;
};

static int find_end64(struct directory *d, const struct file *f, uint64_t end)
{
    char b[END64_BYTES];
    if (end < LOCATOR_BYTES)
        return 0;
    int rc = file_read_at(f, b, end - LOCATOR_BYTES, LOCATOR_BYTES);
    if (rc != 0 || memcmp(b, "PK\6\7", 4) != 0)
        return rc;
    uint64_t at = le64_at(b + 8);
    if (f->bytes < END64_BYTES || at > f->bytes - END64_BYTES)
        return err_set(ERR_FORMAT, "its zip64 directory record is at byte %llu of %llu",
                       (unsigned long long)at, (unsigned long long)f->bytes);
    if ((rc = file_read_at(f, b, at, END64_BYTES)) != 0)
        return rc;
    if (memcmp(b, "PK\6\6", 4) != 0)
        return err_set(ERR_FORMAT, "its zip64 directory record is missing");
    *d = (struct directory){le64_at(b + 48), le64_at(b + 40), le64_at(b + 32)};
    return 0;
}

static int find_directory(struct directory *d, const struct file *f)
{
    char tail[END_BYTES + COMMENT_MAX];
    size_t n = f->bytes < sizeof tail ? (size_t)f->bytes : sizeof tail;
    int rc = file_read_at(f, tail, f->bytes - n, n);
    if (rc != 0)
        return rc;
    for (size_t at = n < END_BYTES ? 0 : n - END_BYTES + 1; at-- > 0;) {
        const char *end = tail + at;
        if (memcmp(end, "PK\5\6", 4) != 0 || le16_at(end + 20) != n - at - END_BYTES)
            continue;
        *d = (struct directory){le32_at(end + 16), le32_at(end + 12), le16_at(end + 10)};
        if (le16_at(end + 4) != 0 && le16_at(end + 4) != 0xffff)
            return err_set(ERR_UNSUPPORTED, "it is one of several volumes of a zip");
        return find_end64(d, f, f->bytes - n + at);
    }
    return err_set(ERR_FORMAT, "it is not a zip archive, or a truncated one");
}

/* Take sizes and offset from the zip64 field where the 32-bit ones are full. */
static int read_zip64(struct zip_entry *e, uint64_t *stored, const char *extra, size_t n)
{
    uint64_t *fields[] = {&e->bytes, stored, &e->offset};
    while (n >= 4) {
        size_t size = le16_at(extra + 2);
        if (size > n - 4)
            break;
        if (le16_at(extra) == 1) {
            const char *at = extra + 4, *end = at + size;
            for (int i = 0; i < 3; i++) {
                if (*fields[i] != UINT32_MAX)
                    continue;
                if (end - at < 8)
                    return err_set(ERR_FORMAT, "its zip64 sizes are cut short");
                *fields[i] = le64_at(at);
                at += 8;
            }
            return 0;
        }
        extra += 4 + size;
        n -= 4 + size;
    }
    return 0;
}

static bool leaves_archive(const char *name)
{
    if (name[0] == '/' || name[0] == '\\')
        return true;
    for (const char *p = strstr(name, ".."); p != NULL; p = strstr(p + 1, ".."))
        if ((p == name || p[-1] == '/' || p[-1] == '\\') &&
            (p[2] == '\0' || p[2] == '/' || p[2] == '\\'))
            return true;
    return false;
}

/* From the offset of the entry's local header to that of its bytes. */
static int find_bytes(struct zip_entry *e, const struct file *f, const char *shown)
{
    char b[LOCAL_BYTES];
    if (f->bytes < LOCAL_BYTES || e->offset > f->bytes - LOCAL_BYTES)
        return err_set(ERR_FORMAT, "its entry %s is at byte %llu of %llu", shown,
                       (unsigned long long)e->offset, (unsigned long long)f->bytes);
    int rc = file_read_at(f, b, e->offset, LOCAL_BYTES);
    if (rc != 0)
        return rc;
    if (memcmp(b, "PK\3\4", 4) != 0)
        return err_set(ERR_FORMAT, "its entry %s has no header at byte %llu", shown,
                       (unsigned long long)e->offset);
    e->offset += LOCAL_BYTES + (uint64_t)le16_at(b + 26) + le16_at(b + 28);
    if (e->offset > f->bytes || e->bytes > f->bytes - e->offset)
        return err_set(ERR_FORMAT, "its entry %s of %llu bytes at %llu ends beyond byte %llu",
                       shown, (unsigned long long)e->bytes, (unsigned long long)e->offset,
                       (unsigned long long)f->bytes);
    return 0;
}

/* One record of the directory, n bytes left; *used of them are its own. */
static int read_entry(struct zip_entry *e, const struct file *f, char *at, size_t n, size_t *used)
{
    char shown[SHOWN];
    if (n < CENTRAL_BYTES || memcmp(at, "PK\1\2", 4) != 0)
        return err_set(ERR_FORMAT, "its zip directory is broken");
    size_t n_name = le16_at(at + 28), n_extra = le16_at(at + 30), n_comment = le16_at(at + 32);
    uint32_t flags = le16_at(at + 8), method = le16_at(at + 10);
    *used = CENTRAL_BYTES + n_name + n_extra + n_comment;
    if (*used > n)
        return err_set(ERR_FORMAT, "its zip directory is broken");
    uint64_t stored = le32_at(at + 20);
    *e = (struct zip_entry){NULL, le32_at(at + 42), le32_at(at + 24)};
    int rc = read_zip64(e, &stored, at + CENTRAL_BYTES + n_name, n_extra);
    if (rc != 0)
        return rc;
    /* The record is read: its name moves down over it, to make room for the NUL. */
    memmove(at, at + CENTRAL_BYTES, n_name);
    at[n_name] = '\0';
    e->name = at;
    file_show(shown, sizeof shown, at);
    if (n_name == 0 || memchr(at, '\0', n_name) != NULL || leaves_archive(at))
        return err_set(ERR_FORMAT, "its entry \"%s\" has a name that leaves the archive", shown);
    if (flags & 1)
        return err_set(ERR_UNSUPPORTED, "its entry %s is encrypted", shown);
    if (method != 0 || stored != e->bytes)
        return err_set(ERR_UNSUPPORTED,
                       "its entry %s is compressed (method %u), torch stores without", shown,
                       method);
    return find_bytes(e, f, shown);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct zip_entry *)a)->name, ((const struct zip_entry *)b)->name);
}

static int read_directory(struct zip *z, const struct file *f, const struct directory *d)
{
    if (d->offset > f->bytes || d->bytes > f->bytes - d->offset)
        return err_set(ERR_FORMAT, "its zip directory of %llu bytes at %llu ends beyond byte %llu",
                       (unsigned long long)d->bytes, (unsigned long long)d->offset,
                       (unsigned long long)f->bytes);
    if (d->n > d->bytes / CENTRAL_BYTES || d->bytes > DIRECTORY_MAX_BYTES)
        return err_set(ERR_FORMAT, "its zip directory of %llu bytes cannot have %llu entries",
                       (unsigned long long)d->bytes, (unsigned long long)d->n);
    int rc = buf_reserve(&z->directory, (size_t)d->bytes);
    if (rc != 0)
        return rc;
    z->entries = mem_array((size_t)d->n, sizeof *z->entries);
    if (z->entries == NULL)
        return ERR_NOMEM;
    rc = file_read_at(f, z->directory.data, d->offset, (size_t)d->bytes);
    size_t used = 0;
    for (size_t at = 0; (uint64_t)z->n < d->n && rc == 0; at += used, z->n++)
        rc = read_entry(&z->entries[z->n], f, z->directory.data + at, (size_t)d->bytes - at, &used);
    if (rc != 0)
        return rc;
    qsort(z->entries, (size_t)z->n, sizeof *z->entries, compare_names);
    for (int i = 1; i < z->n; i++) {
        char shown[SHOWN];
        if (compare_names(&z->entries[i - 1], &z->entries[i]) == 0)
            return err_set(ERR_FORMAT, "it has two entries %s",
                           file_show(shown, sizeof shown, z->entries[i].name));
    }
    return 0;
}

int zip_open(struct zip *z, const struct file *f)
{
    struct directory d;
    *z = (struct zip){0};
    int rc = find_directory(&d, f);
    if (rc == 0)
        rc = read_directory(z, f, &d);
    if (rc != 0)
        zip_close(z);
    return rc;
}

void zip_close(struct zip *z)
{
    if (z == NULL)
        return;
    mem_free(z->entries);
    buf_release(&z->directory);
    *z = (struct zip){0};
}

const struct zip_entry *zip_find(const struct zip *z, const char *name)
{
    struct zip_entry key = {.name = name};
    return z->n == 0 ? NULL : bsearch(&key, z->entries, (size_t)z->n, sizeof key, compare_names);
}
