/* Compressed texts and archives, cut off or changed. */
#include "tests/lib/test.h"

#include "tests/lib/packed.h"
#include "tests/lib/thin.h"

#include <archive.h>
#include <archive_entry.h>

/* Cut anywhere or with a byte changed: a sentence or some text, never more. */
static void damage_is_told(void **state)
{
    (void)state;
    static const char *const names[] = {"d.gz", "d.bz2", "d.xz", "d.zst", "d.zip"};
    struct scratch s;
    struct buf text = {0}, whole = {0}, found = {0};
    char said[200];
    scratch_open(&s);
    pack_text(&text, 3000);
    struct packed_member m = {"d.txt", buf_text(&text), 0};
    for (int i = 0; i < 5; i++) {
        whole.n = 0;
        pack_file(&s, names[i], i == 4 ? ARCHIVE_FORMAT_ZIP : ARCHIVE_FORMAT_RAW,
                  i == 4 ? ARCHIVE_FILTER_NONE : pack_filters[i], &m, 1);
        assert_ok(file_read_all(&whole, scratch_path(&s, names[i]), 1 << 24));
        for (size_t part = 1; part < 10; part++) {
            size_t n = whole.n * part / 11;
            scratch_write(&s, names[i], whole.data, n);
            assert_int_equal(pack_read(&found, &s, names[i]), ERR_FORMAT);
            snprintf(said, sizeof said,
                     "DIR/%s is cut off after %zu bytes: copy or download it again", names[i], n);
            assert_string_equal(scratch_sentence(&s, err_text()), said);
        }
        for (size_t k = 0; k < 40; k++) {
            size_t at = 8 + (whole.n - 8) * k / 40;
            whole.data[at] ^= 0x15;
            scratch_write(&s, names[i], whole.data, whole.n);
            if (pack_read(&found, &s, names[i]) != 0)
                assert_non_null(strstr(err_text(), i < 4 ? "cannot unpack" : names[i]));
            whole.data[at] ^= 0x15;
        }
    }
    buf_release(&text);
    buf_release(&whole);
    buf_release(&found);
    scratch_close(&s);
}

/* What comes out is the text, or nothing: one byte changed, or some cut off. */
static void checksums_are_compared(void **state)
{
    (void)state;
    static const char *const names[] = {"s.gz",      "s.bz2",    "s.xz",      "s.tar.gz",
                                        "s.tar.bz2", "s.tar.xz", "s.tar.zst", "s.zip"};
    enum { N = sizeof names / sizeof *names, ZST = 6, ZIP = 7 };
    static const int filter_of[N] = {0, 1, 2, 0, 1, 2, 3, 0};
    struct scratch s;
    struct buf text = {0}, whole = {0}, found = {0}, plain = {0};
    scratch_open(&s);
    pack_text(&text, 20);
    assert_ok(buf_printf(&plain, "%s|", buf_text(&text)));
    struct packed_member m = {"s.txt", buf_text(&text), 0};
    for (int i = 0; i < N; i++) {
        whole.n = 0;
        pack_file(&s, names[i],
                  i == ZIP ? ARCHIVE_FORMAT_ZIP
                  : i < 3  ? ARCHIVE_FORMAT_RAW
                           : ARCHIVE_FORMAT_TAR_PAX_RESTRICTED,
                  i == ZIP ? ARCHIVE_FILTER_NONE : pack_filters[filter_of[i]], &m, 1);
        assert_ok(file_read_all(&whole, scratch_path(&s, names[i]), 1 << 24));
        assert_ok(pack_read(&found, &s, names[i]));
        assert_string_equal(buf_text(&found), buf_text(&plain));
        for (size_t n = 6; n < whole.n && i != ZIP; n++) {
            if (!thin_runs((int)n, 7))
                continue;
            scratch_write(&s, names[i], whole.data, n);
            if (pack_read(&found, &s, names[i]) == 0)
                fail_msg("%s cut to %zu of %zu bytes is read", names[i], n, whole.n);
        }
        for (size_t at = 6; at < whole.n && i != ZST; at++) {
            if (!thin_runs((int)at, 5))
                continue;
            whole.data[at] ^= 0x15;
            scratch_write(&s, names[i], whole.data, whole.n);
            if (pack_read(&found, &s, names[i]) == 0 &&
                strcmp(buf_text(&found), buf_text(&plain)) != 0 && i != ZIP)
                fail_msg("%s with byte %zu of %zu changed is read", names[i], at, whole.n);
            whole.data[at] ^= 0x15;
        }
    }
    buf_release(&text);
    buf_release(&whole);
    buf_release(&found);
    buf_release(&plain);
    scratch_close(&s);
}

/* Behind the last member of a tar there may be more zeros than a block: the checksum stands behind
 * them. */
static void what_pads_a_tar_is_read_too(void **state)
{
    (void)state;
    enum { PADDING = 1 << 20 };
    static const struct {
        int filter;
        const char *name;
        size_t first, last; /* bytes from the end that are a checksum's, or lie under one */
    } rows[] = {{ARCHIVE_FILTER_GZIP, "pad.tar.gz", 8, 1},
                {ARCHIVE_FILTER_BZIP2, "pad.tar.bz2", 5, 2},
                {ARCHIVE_FILTER_XZ, "pad.tar.xz", 40, 1}};
    const struct packed_member m = {"a.txt", "one", 0};
    struct scratch s;
    struct buf tar = {0}, found = {0};
    scratch_open(&s);
    pack_file(&s, "x.tar", ARCHIVE_FORMAT_TAR_PAX_RESTRICTED, ARCHIVE_FILTER_NONE, &m, 1);
    assert_ok(file_read_all(&tar, scratch_path(&s, "x.tar"), 1 << 20));
    for (int i = 0; i < PADDING; i++)
        assert_ok(buf_char(&tar, '\0'));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf whole = {0};
        struct archive *a = archive_write_new();
        archive_write_set_format_raw(a);
        archive_write_add_filter(a, rows[i].filter);
        archive_write_open_filename(a, scratch_path(&s, rows[i].name));
        pack_member(a, &(struct packed_member){"x", tar.data, 0}, tar.n);
        archive_write_close(a);
        archive_write_free(a);
        assert_ok(pack_read(&found, &s, rows[i].name));
        assert_string_equal(buf_text(&found), "one|");
        assert_ok(file_read_all(&whole, scratch_path(&s, rows[i].name), 1 << 20));
        for (size_t back = rows[i].last; back <= rows[i].first; back++) {
            whole.data[whole.n - back] ^= 0x15;
            scratch_write(&s, rows[i].name, whole.data, whole.n);
            if (pack_read(&found, &s, rows[i].name) != ERR_FORMAT)
                fail_msg("%s whose byte %zu from the end is changed is read", rows[i].name, back);
            whole.data[whole.n - back] ^= 0x15;
        }
        buf_release(&whole);
    }
    buf_release(&tar);
    buf_release(&found);
    scratch_close(&s);
}

/* Members behind each other, each with its checksum, and what may stand behind them. */
static void gzip_members_are_checked(void **state)
{
    (void)state;
    struct scratch s;
    struct buf whole = {0}, found = {0};
    size_t one = 0;
    scratch_open(&s);
    for (int i = 0; i < 2; i++) {
        struct packed_member m = {"x", i == 0 ? "one " : "two", 0};
        pack_file(&s, "part.gz", ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_GZIP, &m, 1);
        assert_ok(file_read_all(&whole, scratch_path(&s, "part.gz"), 1 << 20));
        one = i == 0 ? whole.n : one;
    }
    const size_t n = whole.n;
    static const struct {
        size_t at; /* from the end of the member */
        const char *sentence;
    } rows[] = {{8, "its checksum is wrong"}, {4, "its length is wrong"}};
    for (size_t i = 0; i < 4; i++) {
        char *byte = &whole.data[(i < 2 ? one : n) - rows[i % 2].at];
        *byte ^= 1;
        scratch_write(&s, "x.txt.gz", whole.data, n);
        assert_fails(pack_read(&found, &s, "x.txt.gz"), ERR_FORMAT, rows[i % 2].sentence);
        *byte ^= 1;
    }
    scratch_write(&s, "x.txt.gz", whole.data, n - 8);
    assert_fails(pack_read(&found, &s, "x.txt.gz"), ERR_FORMAT, "is cut off after");
    for (int i = 0; i < 1000; i++)
        assert_ok(buf_char(&whole, '\0'));
    scratch_write(&s, "x.txt.gz", whole.data, whole.n); /* as tapes have it */
    assert_ok(pack_read(&found, &s, "x.txt.gz"));
    assert_string_equal(buf_text(&found), "one two|");
    whole.data[n + 7] = 'x';
    scratch_write(&s, "x.txt.gz", whole.data, n + 8);
    assert_fails(pack_read(&found, &s, "x.txt.gz"), ERR_FORMAT,
                 "behind its end there are bytes that gzip did not write");
    buf_release(&whole);
    buf_release(&found);
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(checksums_are_compared),
        cmocka_unit_test(gzip_members_are_checked),
        cmocka_unit_test(what_pads_a_tar_is_read_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
