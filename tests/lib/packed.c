#include "tests/lib/packed.h"

#include "model/base/rng.h"
#include "tests/lib/test.h"
#include "train/data/text_reader.h"

#include <archive.h>
#include <archive_entry.h>

enum { TIME = 1000000000 };

void pack_member(struct archive *a, const struct packed_member *m, size_t n)
{
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, m->name);
    archive_entry_set_filetype(e, m->type == 0 ? AE_IFREG : (unsigned)m->type);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_mtime(e, TIME, 0);
    archive_entry_set_size(e, m->type == 0 ? (la_int64_t)n : 0);
    if (m->type == AE_IFLNK)
        archive_entry_set_symlink(e, m->text);
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    if (m->type == 0 && n > 0)
        assert_int_equal(archive_write_data(a, m->text, n), n);
    archive_entry_free(e);
}

void pack_file(const struct scratch *s, const char *name, int format, int filter,
               const struct packed_member *list, size_t n)
{
    struct archive *a = archive_write_new();
    assert_int_equal(archive_write_set_format(a, format), ARCHIVE_OK);
    assert_int_equal(archive_write_add_filter(a, filter), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(a, scratch_path(s, name)), ARCHIVE_OK);
    for (size_t i = 0; i < n; i++)
        pack_member(a, &list[i], strlen(list[i].text));
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
}

int pack_read(struct buf *out, const struct scratch *s, const char *name)
{
    struct data_sources sources;
    struct text_reader r;
    struct buf piece = {0};
    size_t at = 0;
    bool ends;
    out->n = 0;
    int rc = data_sources_find(&sources, scratch_path(s, name));
    if (rc != 0)
        return rc;
    text_reader_init(&r, sources.list, sources.n, "<|endoftext|>");
    while ((rc = text_reader_next(&r, &piece, &ends, &at)) == 0 && at < sources.n) {
        assert_ok(buf_add(out, piece.data, piece.n));
        if (ends)
            assert_ok(buf_char(out, '|'));
    }
    if (rc == 0)
        assert_true(text_reader_bytes(&r) > 0);
    text_reader_release(&r);
    data_sources_release(&sources);
    buf_release(&piece);
    return rc;
}

const int pack_filters[] = {ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_XZ,
                            ARCHIVE_FILTER_ZSTD};
const char *const pack_endings[] = {"gz", "bz2", "xz", "zst"};

void pack_text(struct buf *text, int lines)
{
    uint32_t w[4];
    for (int i = 0; i < lines; i++) {
        rng_words(w, 5, 0, (uint64_t)i);
        assert_ok(buf_printf(text, "line %d says %08x%08x, no more\n%s", i, w[0], w[1],
                             i % 1000 == 999 ? "<|endoftext|>\n" : ""));
    }
}
