#include "train/data/text_stream.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BLOCK = 1 << 16, NAME_BYTES = 120 };

static int set_unpack_error(const struct text_stream *s)
{
    char shown[NAME_BYTES], said[NAME_BYTES];
    const char *why = archive_error_string(s->archive);
    if (s->failed != 0) /* to read the file beneath */
        return s->failed;
    return err_set(ERR_FORMAT, "cannot unpack %s: %s", file_show(shown, sizeof shown, s->file.path),
                   file_show(said, sizeof said, why == NULL ? "it is damaged" : why));
}

/* libarchive asks for the next bytes of the file. */
static la_ssize_t read_block(struct archive *a, void *user, const void **bytes)
{
    struct text_stream *s = user;
    uint64_t left = s->file.bytes - s->read;
    size_t n = left < TEXT_BLOCK ? (size_t)left : TEXT_BLOCK;
    (void)a;
    *bytes = s->block;
    if (n > 0 && (s->failed = file_read_at(&s->file, s->block, s->read, n)) != 0)
        return -1;
    s->read += n;
    return (la_ssize_t)n;
}

/* For zip, whose directory is at its end. */
static la_int64_t seek_file(struct archive *a, void *user, la_int64_t offset, int whence)
{
    struct text_stream *s = user;
    int64_t bytes = (int64_t)s->file.bytes;
    int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (int64_t)s->read : bytes;
    (void)a;
    if (offset < -from || offset > bytes - from)
        return ARCHIVE_FATAL;
    s->read = (uint64_t)(from + offset);
    return from + offset;
}

static int open_archive(struct text_stream *s)
{
    s->block = mem_alloc(TEXT_BLOCK);
    s->archive = archive_read_new();
    if (s->block == NULL || s->archive == NULL)
        return err_set(ERR_NOMEM, "no memory to unpack");
    archive_read_support_filter_gzip(s->archive);
    archive_read_support_filter_bzip2(s->archive);
    archive_read_support_filter_xz(s->archive);
    archive_read_support_filter_zstd(s->archive);
    archive_read_support_format_zip(s->archive);
    archive_read_support_format_tar(s->archive);
    archive_read_support_format_raw(s->archive);
    archive_read_set_read_callback(s->archive, read_block);
    archive_read_set_seek_callback(s->archive, seek_file);
    archive_read_set_callback_data(s->archive, s);
    return archive_read_open1(s->archive) == ARCHIVE_OK ? 0 : set_unpack_error(s);
}

int text_stream_open(struct text_stream *s, const struct data_source *source)
{
    *s = (struct text_stream){.source = source, .kind = source->kind, .file.fd = -1};
    int rc = file_open(&s->file, source->path);
    if (rc == 0 && source->packed)
        rc = open_archive(s);
    if (rc != 0)
        text_stream_close(s);
    return rc;
}

void text_stream_close(struct text_stream *s)
{
    if (s->archive != NULL)
        archive_read_free(s->archive);
    mem_free(s->block);
    file_close(&s->file);
    *s = (struct text_stream){.file.fd = -1};
}

/* A part of the path begins with a dot, or is what macOS adds. */
static bool is_hidden_member(const char *path)
{
    for (const char *p = path; p != NULL; p = strchr(p, '/')) {
        p += *p == '/';
        size_t n = strcspn(p, "/");
        bool here = strspn(p, ".") == n && n <= 2;
        if ((*p == '.' && !here) || (n == 8 && memcmp(p, "__MACOSX", n) == 0))
            return true;
    }
    return false;
}

/* What the member in progress is called: of a compressed file that is no archive, the file
 * without its last ending. */
static void name_member(struct text_stream *s, char *name, size_t size, struct archive_entry *e)
{
    char shown[NAME_BYTES], inner[NAME_BYTES];
    const char *inside = archive_entry_pathname(e);
    file_show(shown, sizeof shown, s->file.path);
    if (archive_format(s->archive) == ARCHIVE_FORMAT_RAW) {
        data_unpacked_name(name, size, s->source->path);
        snprintf(s->name, sizeof s->name, "%s", shown);
        return;
    }
    if (inside == NULL)
        inside = archive_entry_pathname_utf8(e);
    snprintf(name, size, "%s", inside == NULL ? "a member whose name cannot be read" : inside);
    snprintf(s->name, sizeof s->name, "%s: %s", shown, file_show(inner, sizeof inner, name));
}

int text_stream_next(struct text_stream *s, bool *got)
{
    struct archive_entry *e;
    *got = false;
    if (s->archive == NULL) {
        *got = s->texts++ == 0;
        file_show(s->name, sizeof s->name, s->file.path);
        return 0;
    }
    for (;;) {
        char name[NAME_BYTES * 4];
        int rc = archive_read_next_header(s->archive, &e);
        if (rc == ARCHIVE_EOF)
            return 0;
        if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
            return set_unpack_error(s);
        name_member(s, name, sizeof name, e);
        bool raw = archive_format(s->archive) == ARCHIVE_FORMAT_RAW;
        if (raw && archive_filter_count(s->archive) == 1) /* it only began like one */
            return set_unpack_error(s);
        if (!raw && (archive_entry_filetype(e) != AE_IFREG || archive_entry_hardlink(e) != NULL ||
                     is_hidden_member(name)))
            continue;
        s->texts++;
        s->kind = data_is_json_lines(name) ? DATA_JSON_LINES : DATA_TEXT;
        *got = true;
        return 0;
    }
}

static int unpack_bytes(struct text_stream *s, char *dst, size_t n, size_t *got)
{
    char shown[NAME_BYTES];
    for (*got = 0; *got < n;) {
        la_ssize_t more = archive_read_data(s->archive, dst + *got, n - *got);
        if (more == ARCHIVE_RETRY)
            continue;
        if (more < 0)
            return set_unpack_error(s);
        if (more == 0)
            break;
        *got += (size_t)more;
        s->unpacked += (uint64_t)more;
        if (s->unpacked > UNPACKED_FREE &&
            s->unpacked - UNPACKED_FREE > UNPACKED_TIMES * s->file.bytes)
            return err_set(ERR_RANGE,
                           "%s (%llu bytes) unpacks to more than %llu times its size, as a "
                           "decompression bomb would; if it is text, unpack it first",
                           file_show(shown, sizeof shown, s->file.path),
                           (unsigned long long)s->file.bytes, (unsigned long long)UNPACKED_TIMES);
    }
    return 0;
}

int text_stream_read(struct text_stream *s, char *dst, size_t n, size_t *got)
{
    if (s->archive != NULL)
        return unpack_bytes(s, dst, n, got);
    uint64_t left = s->file.bytes - s->read;
    *got = left < n ? (size_t)left : n;
    int rc = file_read_at(&s->file, dst, s->read, *got);
    s->read += rc == 0 ? *got : 0;
    return rc;
}
