#include "train/data/text_stream.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/data/parquet.h"
#include "train/data/pickle_ids.h"
#include "train/data/tfrecord.h"
#include "train/data/working_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BLOCK = 1 << 16, NAME_BYTES = 120 };

static struct text_layer *top_layer(struct text_stream *s)
{
    return &s->layers[s->depth - 1];
}

/* It asked for more than there is. */
static int set_cut_error(const struct text_layer *l)
{
    if (l > l->stream->layers)
        return err_set(ERR_FORMAT, "%s is cut off after %" PRIu64 " bytes", l->name, l->taken);
    return err_set(ERR_FORMAT, "%s is cut off after %" PRIu64 " bytes: copy or download it again",
                   l->name, l->stream->file.bytes);
}

static int set_unpack_error(const struct text_layer *l)
{
    char said[NAME_BYTES];
    const char *why = l->packing == DATA_GZIP    ? l->gunzip.why
                      : l->packing == DATA_BZIP2 ? l->bunzip.why
                                                 : archive_error_string(l->archive);
    if (l->stream->failed != 0) /* to read what lies beneath */
        return l->stream->failed;
    if (l->packing == DATA_BZIP2 ? l->bunzip.cut : l->at_end)
        return set_cut_error(l);
    return err_set(ERR_FORMAT, "cannot unpack %s: %s", l->name,
                   file_show(said, sizeof said, why == NULL ? "it is damaged" : why));
}

/* Of all layers as deep as this one. */
static int count_unpacked(const struct text_layer *l, size_t n)
{
    char shown[NAME_BYTES];
    struct text_stream *s = l->stream;
    uint64_t *unpacked = &s->unpacked[l - s->layers];
    *unpacked += n;
    if (*unpacked <= UNPACKED_FREE || *unpacked - UNPACKED_FREE <= UNPACKED_TIMES * s->file.bytes)
        return 0;
    return err_set(ERR_RANGE,
                   "%s (%llu bytes) unpacks to more than %llu times its size, as a "
                   "decompression bomb would; if it is text, unpack it first",
                   file_show(shown, sizeof shown, s->file.path), (unsigned long long)s->file.bytes,
                   (unsigned long long)UNPACKED_TIMES);
}

/* Up to n bytes of the layer's member, fewer only at its end. */
static int unpack_bytes(struct text_layer *l, char *dst, size_t n, size_t *got)
{
    if (l->archive == NULL) {
        const int rc = l->packing == DATA_GZIP ? gunzip_read(&l->gunzip, dst, n, got)
                                               : bunzip_read(&l->bunzip, dst, n, got);
        return rc == ERR_FORMAT ? set_unpack_error(l) : rc != 0 ? rc : count_unpacked(l, *got);
    }
    for (*got = 0; *got < n;) {
        la_ssize_t more = archive_read_data(l->archive, dst + *got, n - *got);
        if (more == ARCHIVE_RETRY)
            continue;
        if (more < 0)
            return set_unpack_error(l);
        if (more == 0)
            break;
        *got += (size_t)more;
        int rc = count_unpacked(l, (size_t)more);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* libarchive asks for the next bytes of the file. */
static la_ssize_t read_block(struct archive *a, void *user, const void **bytes)
{
    struct text_layer *l = user;
    struct text_stream *s = l->stream;
    uint64_t left = s->file.bytes - s->read;
    size_t n = left < TEXT_BLOCK ? (size_t)left : TEXT_BLOCK;
    (void)a;
    *bytes = l->block;
    if (n > 0 && (s->failed = file_read_at(&s->file, l->block, s->read, n)) != 0)
        return -1;
    s->read += n;
    l->at_end = n == 0;
    return (la_ssize_t)n;
}

/* The same of a member of the archive beneath, whose first bytes lie in the block already. */
static la_ssize_t read_member(struct archive *a, void *user, const void **bytes)
{
    struct text_layer *l = user;
    size_t n = l->n_head;
    (void)a;
    *bytes = l->block;
    if (n == 0)
        l->stream->failed = unpack_bytes(l - 1, l->block, TEXT_BLOCK, &n);
    l->n_head = 0;
    l->taken += n;
    l->at_end = n == 0;
    return l->stream->failed != 0 ? -1 : (la_ssize_t)n;
}

/* For zip, whose directory is at its end. */
static la_int64_t seek_file(struct archive *a, void *user, la_int64_t offset, int whence)
{
    struct text_stream *s = ((struct text_layer *)user)->stream;
    int64_t bytes = (int64_t)s->file.bytes;
    int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (int64_t)s->read : bytes;
    (void)a;
    if (offset < -from || offset > bytes - from)
        return ARCHIVE_FATAL;
    s->read = (uint64_t)(from + offset);
    s->layers[0].at_end = false;
    return from + offset;
}

static long next_packed(void *user, const void **bytes)
{
    struct text_layer *l = user;
    return l == l->stream->layers ? read_block(NULL, l, bytes) : read_member(NULL, l, bytes);
}

/* Compressed files are unpacked alone: what they have within is another layer, so that each is read
 * to its end, where its checksum stands. */
static int open_archive(struct text_layer *l, bool compressed, bool member)
{
    l->archive = archive_read_new();
    if (l->archive == NULL)
        return err_set(ERR_NOMEM, "no memory to unpack");
    if (compressed) {
        archive_read_support_filter_bzip2(l->archive);
        archive_read_support_filter_xz(l->archive);
        archive_read_support_filter_zstd(l->archive);
        archive_read_support_format_raw(l->archive);
        archive_read_support_format_empty(l->archive); /* of what had no bytes before */
    } else {
        archive_read_support_format_zip(l->archive);
        archive_read_support_format_tar(l->archive);
    }
    archive_read_set_read_callback(l->archive, member ? read_member : read_block);
    if (!member)
        archive_read_set_seek_callback(l->archive, seek_file);
    archive_read_set_callback_data(l->archive, l);
    return archive_read_open1(l->archive) == ARCHIVE_OK ? 0 : set_unpack_error(l);
}

/* One more layer: of the file, or of the member in progress; the first bytes of either are the
 * stream's head. */
static int open_layer(struct text_stream *s, const char *name, const char *path)
{
    struct text_layer *l = &s->layers[s->depth];
    *l = (struct text_layer){.stream = s};
    snprintf(l->name, sizeof l->name, "%s", name);
    data_unpacked_name(l->inner, sizeof l->inner, path);
    l->block = mem_alloc(TEXT_BLOCK);
    const bool member = s->depth++ > 0;
    l->packing = data_packing_of(s->head, s->n_head, path);
    if (l->block == NULL)
        return ERR_NOMEM;
    memcpy(l->block, s->head, member ? s->n_head : 0);
    l->n_head = member ? s->n_head : 0;
    s->n_head = s->given = 0;
    if (l->packing == DATA_GZIP)
        return gunzip_open(&l->gunzip, next_packed, l);
    if (l->packing != DATA_BZIP2)
        return open_archive(l, l->packing == DATA_COMPRESSED, member);
    bunzip_open(&l->bunzip, next_packed, l);
    return 0;
}

static void close_layer(struct text_stream *s)
{
    struct text_layer *l = &s->layers[--s->depth];
    if (l->archive != NULL)
        archive_read_free(l->archive);
    gunzip_close(&l->gunzip);
    bunzip_close(&l->bunzip);
    mem_free(l->block);
}

int text_stream_open(struct text_stream *s, const struct data_source *source, const char *column,
                     const struct pairs *pairs)
{
    char shown[NAME_BYTES];
    *s = (struct text_stream){.source = source,
                              .kind = source->kind,
                              .rows = source->parquet,
                              .column = column,
                              .pairs = pairs,
                              .file.fd = -1};
    int rc = file_open(&s->file, source->path);
    if (rc == 0 && source->parquet)
        rc = parquet_open(&s->parquet, source->path, source->path, column, pairs);
    if (rc == 0 && source->packed) {
        s->n_head = s->file.bytes < TEXT_HEAD ? (size_t)s->file.bytes : TEXT_HEAD;
        rc = file_read_at(&s->file, s->head, 0, s->n_head);
    }
    if (rc == 0 && source->packed)
        rc = open_layer(s, file_show(shown, sizeof shown, source->path), source->path);
    if (rc != 0)
        text_stream_close(s);
    return rc;
}

void text_stream_close(struct text_stream *s)
{
    while (s->depth > 0)
        close_layer(s);
    parquet_close(s->parquet);
    buf_release(&s->lines);
    file_close(&s->file);
    *s = (struct text_stream){.file.fd = -1};
}

/* A compressed file, which has one member. */
static bool is_compressed(const struct text_layer *l)
{
    return l->archive == NULL || archive_format(l->archive) == ARCHIVE_FORMAT_RAW;
}

/* What the member in progress is called: of a compressed file, the file without its last ending.
 */
static void name_member(struct text_stream *s, char *name, size_t size, struct archive_entry *e)
{
    char inner[NAME_BYTES];
    const struct text_layer *l = top_layer(s);
    if (is_compressed(l)) {
        snprintf(name, size, "%s", l->inner);
        snprintf(s->name, sizeof s->name, "%s", l->name);
        return;
    }
    const char *inside = archive_entry_pathname(e);
    if (inside == NULL)
        inside = archive_entry_pathname_utf8(e);
    snprintf(name, size, "%s", inside == NULL ? "a member whose name cannot be read" : inside);
    snprintf(s->name, sizeof s->name, "%.120s: %.120s", l->name,
             file_show(inner, sizeof inner, name));
}

static enum data_kind kind_of_name(const char *name)
{
    return data_is_json_lines(name)                                   ? DATA_JSON_LINES
           : tfrecord_is_name(name)                                   ? DATA_TFRECORD
           : pickle_ids_is_name(name)                                 ? DATA_PICKLE
           : text_ends_in(name, ".bin") || text_ends_in(name, ".idx") ? DATA_MEGATRON
           : text_ends_in(name, ".npy")                               ? DATA_NPY
                                                                      : DATA_TEXT;
}

/* The next member of the uppermost layer; *is_text: it is one, whose head was read. */
static int next_member(struct text_stream *s, struct archive_entry *e, bool *is_text)
{
    struct text_layer *l = top_layer(s);
    char name[NAME_BYTES * 4], shown[TEXT_NAME];
    name_member(s, name, sizeof name, e);
    *is_text = false;
    const bool compressed = is_compressed(l);
    if (l->archive != NULL && compressed && archive_filter_count(l->archive) == 1)
        return set_unpack_error(l); /* it only began like one */
    if (!compressed && (archive_entry_filetype(e) != AE_IFREG ||
                        archive_entry_hardlink(e) != NULL || data_is_hidden(name)))
        return 0;
    s->given = 0;
    int rc = unpack_bytes(l, s->head, sizeof s->head, &s->n_head);
    if (rc != 0)
        return rc;
    if (!data_is_packed(s->head, s->n_head, name)) {
        *is_text = compressed || !tfrecord_may_be_index(name, s->head, s->n_head);
        s->texts += *is_text;
        s->rows = parquet_is_file(s->head, s->n_head);
        s->bytes = !compressed && archive_entry_size(e) > 0 ? (uint64_t)archive_entry_size(e) : 0;
        s->kind = s->rows ? DATA_JSON_LINES : kind_of_name(name);
        return 0;
    }
    if (s->depth == TEXT_LAYERS)
        return err_set(ERR_FORMAT, "%s is packed in more than %d layers: unpack it first", s->name,
                       TEXT_LAYERS);
    memcpy(shown, s->name, sizeof shown);
    return open_layer(s, shown, name);
}

/* The next member of the uppermost layer; *e NULL: there are no more. */
static int find_member(struct text_stream *s, struct archive_entry **e, bool *got)
{
    struct text_layer *l = top_layer(s);
    *e = NULL;
    *got = !l->begun;
    if (l->archive == NULL) {
        l->begun = true;
        return 0;
    }
    const int next = archive_read_next_header(l->archive, e);
    *got = next != ARCHIVE_EOF;
    return *got && next != ARCHIVE_OK && next != ARCHIVE_WARN ? set_unpack_error(l) : 0;
}

/* The uppermost layer is at its end; what lies beneath may go on, to a checksum at least. */
static int leave_layer(struct text_stream *s)
{
    struct text_layer *l = top_layer(s);
    size_t n = 1;
    int rc = 0;
    while (rc == 0 && n > 0)
        rc = unpack_bytes(l - 1, l->block, TEXT_BLOCK, &n);
    close_layer(s);
    return rc;
}

static void close_rows(struct text_stream *s)
{
    parquet_close(s->parquet);
    s->parquet = NULL;
    s->rows = false;
    s->lines.n = 0;
}

int text_stream_next(struct text_stream *s, bool *got)
{
    *got = false;
    if (s->depth == 0) {
        *got = s->texts++ == 0;
        file_show(s->name, sizeof s->name, s->file.path);
        return 0;
    }
    close_rows(s);
    for (int rc = 0; rc == 0 && !*got;) {
        struct archive_entry *e;
        bool there;
        rc = find_member(s, &e, &there);
        if (rc == 0 && !there && s->depth == 1)
            return 0;
        if (rc == 0)
            rc = there ? next_member(s, e, got) : leave_layer(s);
        if (rc != 0)
            return rc;
    }
    return 0;
}

bool text_stream_in_archive(const struct text_stream *s)
{
    bool archive = false;
    for (int i = 0; i < s->depth; i++)
        archive |= !is_compressed(&s->layers[i]);
    return archive;
}

static int read_packed(struct text_stream *s, char *dst, size_t n, size_t *got)
{
    size_t left = s->n_head - s->given, part = left < n ? left : n;
    memcpy(dst, s->head + s->given, part);
    s->given += part;
    int rc = unpack_bytes(top_layer(s), dst + part, n - part, got);
    *got += part;
    return rc;
}

static int read_parquet(void *user, char *dst, size_t n, size_t *got)
{
    return interrupt_pending() ? err_set(ERR_INTERRUPTED, "interrupted")
                               : read_packed(user, dst, n, got);
}

/* Of a packed file: Arrow opens the file without a name by its descriptor, and has it open from
 * then on. */
static int open_rows(struct text_stream *s)
{
    struct file f = {.fd = -1};
    char path[32], *folder = NULL;
    int rc = parquet_load();
    if (rc == 0 && (folder = working_folder(NULL)) == NULL)
        rc = err_last();
    if (rc == 0 && (rc = working_file_open(&f, folder, s->name)) == 0)
        rc = working_file_fill(&f, folder, s->bytes, read_parquet, s);
    snprintf(path, sizeof path, "/proc/self/fd/%d", f.fd);
    if (rc == 0)
        rc = parquet_open(&s->parquet, path, s->name, s->column, s->pairs);
    working_file_close(&f);
    mem_free(folder);
    s->given = 0;
    return rc;
}

static int read_rows(struct text_stream *s, char *dst, size_t n, size_t *got)
{
    double done = 0;
    bool more = true;
    int rc = s->parquet == NULL ? open_rows(s) : 0;
    for (*got = 0; *got < n && more && rc == 0;) {
        const size_t left = s->lines.n - s->given, part = left < n - *got ? left : n - *got;
        if (part > 0)
            memcpy(dst + *got, s->lines.data + s->given, part);
        s->given += part;
        *got += part;
        if (s->given < s->lines.n)
            continue;
        s->lines.n = s->given = 0;
        if ((rc = parquet_read(s->parquet, &s->lines, &more, &done)) == 0 && s->depth == 0)
            s->read = (uint64_t)((double)s->file.bytes * done);
    }
    return rc;
}

int text_stream_read(struct text_stream *s, char *dst, size_t n, size_t *got)
{
    if (s->rows)
        return read_rows(s, dst, n, got);
    if (s->depth > 0)
        return read_packed(s, dst, n, got);
    uint64_t left = s->file.bytes - s->read;
    *got = left < n ? (size_t)left : n;
    int rc = file_read_at(&s->file, dst, s->read, *got);
    s->read += rc == 0 ? *got : 0;
    return rc;
}
