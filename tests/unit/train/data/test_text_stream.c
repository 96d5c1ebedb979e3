/* Texts that come compressed or in archives, whole and damaged. */
#include "tests/lib/test.h"

#include "model/base/rng.h"
#include "tests/lib/scratch.h"
#include "train/data/text_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

enum { TIME = 1000000000 };

/* A member; type 0: a file. */
struct member {
    const char *name, *text;
    int type; /* AE_IFDIR, AE_IFLNK (to text) */
};

static void add_member(struct archive *a, const struct member *m, size_t n)
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

static void pack(const struct scratch *s, const char *name, int format, int filter,
                 const struct member *list, size_t n)
{
    struct archive *a = archive_write_new();
    assert_int_equal(archive_write_set_format(a, format), ARCHIVE_OK);
    assert_int_equal(archive_write_add_filter(a, filter), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(a, scratch_path(s, name)), ARCHIVE_OK);
    for (size_t i = 0; i < n; i++)
        add_member(a, &list[i], strlen(list[i].text));
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
}

/* All documents of a file, "|" behind each. */
static int read_all(struct buf *out, const struct scratch *s, const char *name)
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

static const int filters[] = {ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_XZ,
                              ARCHIVE_FILTER_ZSTD};
static const char *const endings[] = {"gz", "bz2", "xz", "zst"};
enum { N_FILTERS = 4 };

/* Text of many pieces, which compresses to about a third. */
static void make_text(struct buf *text, int lines)
{
    uint32_t w[4];
    for (int i = 0; i < lines; i++) {
        rng_words(w, 5, 0, (uint64_t)i);
        assert_ok(buf_printf(text, "line %d says %08x%08x, no more\n%s", i, w[0], w[1],
                             i % 1000 == 999 ? "<|endoftext|>\n" : ""));
    }
}

static void compressed_text_is_the_text(void **state)
{
    (void)state;
    struct scratch s;
    struct buf text = {0}, plain = {0}, packed = {0};
    char name[32];
    scratch_open(&s);
    make_text(&text, 60000);
    scratch_write(&s, "plain.txt", text.data, text.n);
    assert_ok(read_all(&plain, &s, "plain.txt"));
    for (int i = 0; i < N_FILTERS; i++) {
        struct member m = {"x", buf_text(&text), 0};
        snprintf(name, sizeof name, "novel.txt.%s", endings[i]);
        pack(&s, name, ARCHIVE_FORMAT_RAW, filters[i], &m, 1);
        assert_ok(read_all(&packed, &s, name));
        assert_int_equal(packed.n, plain.n);
        assert_memory_equal(packed.data, plain.data, plain.n);
    }
    struct member lines = {"x", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n", 0};
    pack(&s, "web.jsonl.zst", ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_ZSTD, &lines, 1);
    assert_ok(read_all(&packed, &s, "web.jsonl.zst"));
    assert_string_equal(buf_text(&packed), "one|two|");
    /* A program that packs in parallel writes several streams one behind the other. */
    FILE *f = fopen(scratch_path(&s, "plain.txt.gz"), "wb");
    for (int i = 0; i < 2; i++) {
        struct member m = {"x", i == 0 ? "one " : "two", 0};
        struct buf part = {0};
        pack(&s, "part.gz", ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_GZIP, &m, 1);
        assert_ok(file_read_all(&part, scratch_path(&s, "part.gz"), 1 << 20));
        assert_int_equal(fwrite(part.data, 1, part.n, f), part.n);
        buf_release(&part);
    }
    fclose(f);
    assert_ok(read_all(&packed, &s, "plain.txt.gz"));
    assert_string_equal(buf_text(&packed), "one two|");
    buf_release(&text);
    buf_release(&plain);
    buf_release(&packed);
    scratch_close(&s);
}

/* Each file of an archive is a document; what a folder would leave out is left out, and no
 * name is ever a place to write to. */
static void archives_are_folders(void **state)
{
    (void)state;
    static const struct member list[] = {
        {"books/", "", AE_IFDIR},
        {"books/b.txt", "\xef\xbb\xbfsecond<|endoftext|>\nthird", 0},
        {"books/empty.txt", "", 0},
        {"books/.hidden", "no", 0},
        {".git/config", "no", 0},
        {"__MACOSX/b.txt", "no", 0},
        {"books/link", "b.txt", AE_IFLNK},
        {"../../../escaped.txt", "outside", 0},
        {"./here.txt", "here", 0},
        {"web.jsonl", "{\"text\": \"four\"}\n\n{\"text\": \"five\"}", 0},
        {"last", "six", 0},
    };
    struct scratch s;
    struct buf found = {0};
    scratch_open(&s);
    for (int k = 0; k < N_FILTERS + 2; k++) {
        char name[32];
        snprintf(name, sizeof name, "all.%s", k < N_FILTERS ? endings[k] : "archive");
        pack(&s, name, k == N_FILTERS + 1 ? ARCHIVE_FORMAT_ZIP : ARCHIVE_FORMAT_TAR_PAX_RESTRICTED,
             k < N_FILTERS ? filters[k] : ARCHIVE_FILTER_NONE, list, sizeof list / sizeof list[0]);
        assert_ok(read_all(&found, &s, name));
        assert_string_equal(buf_text(&found), "second|third|outside|here|four|five|six|");
        assert_int_equal(unlink(scratch_path(&s, name)), 0);
        assert_int_equal(rmdir(s.folder), 0); /* nothing else is in it */
        assert_int_equal(mkdir(s.folder, 0700), 0);
    }
    buf_release(&found);
    scratch_close(&s);
}

/* As OpenWebText comes: a tar of .xz files, each of them a tar of texts. */
static void what_is_packed_inside_is_unpacked(void **state)
{
    (void)state;
    static const struct member texts[] = {{"1.txt", "one", 0}, {"2.txt", "two", 0}};
    static const struct member more[] = {{"3.jsonl", "{\"text\": \"three\"}", 0}};
    struct scratch s;
    struct buf inner[2] = {0}, found = {0};
    scratch_open(&s);
    pack(&s, "a.xz", ARCHIVE_FORMAT_TAR_PAX_RESTRICTED, ARCHIVE_FILTER_XZ, texts, 2);
    pack(&s, "b.zip", ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, more, 1);
    assert_ok(file_read_all(&inner[0], scratch_path(&s, "a.xz"), 1 << 20));
    assert_ok(file_read_all(&inner[1], scratch_path(&s, "b.zip"), 1 << 20));
    struct archive *a = archive_write_new();
    archive_write_set_format_pax_restricted(a);
    archive_write_open_filename(a, scratch_path(&s, "all.tar"));
    add_member(a, &(struct member){"first.txt", "zero", 0}, 4);
    add_member(a, &(struct member){"a.xz", inner[0].data, 0}, inner[0].n);
    add_member(a, &(struct member){"b.zip", inner[1].data, 0}, inner[1].n);
    add_member(a, &(struct member){"last.txt", "four", 0}, 4);
    archive_write_close(a);
    archive_write_free(a);
    assert_ok(read_all(&found, &s, "all.tar"));
    assert_string_equal(buf_text(&found), "zero|one|two|three|four|");
    for (int i = 0; i < 8; i++) { /* a zip in a zip, and so on */
        struct buf whole = {0};
        assert_ok(file_read_all(&whole, scratch_path(&s, i == 0 ? "b.zip" : "deep"), 1 << 20));
        a = archive_write_new();
        archive_write_set_format_zip(a);
        archive_write_open_filename(a, scratch_path(&s, "deep"));
        add_member(a, &(struct member){"x", whole.data, 0}, whole.n);
        archive_write_close(a);
        archive_write_free(a);
        buf_release(&whole);
        assert_int_equal(read_all(&found, &s, "deep"), i < 7 ? 0 : ERR_FORMAT);
    }
    assert_non_null(strstr(err_text(), "x is packed in more than 8 layers: unpack it first"));
    buf_release(&inner[0]);
    buf_release(&inner[1]);
    buf_release(&found);
    scratch_close(&s);
}

static void what_is_no_text_is_named(void **state)
{
    (void)state;
    static const struct {
        struct member member;
        const char *sentence;
    } rows[] = {
        {{"a/x.txt", "\x1f\x8b\b", 0}, "cannot unpack DIR/all.tar.xz: a/x.txt: it is cut off"},
        {{"model", "GGUF....", 0}, "DIR/all.tar.xz: model is a model (GGUF), not text or tokens"},
        {{"x.jsonl", "{}", 0},
         "DIR/all.tar.xz: x.jsonl line 1: expected an object whose field text is a string"},
        {{"\033[2J", "7z\xbc\xaf\x27\x1c", 0},
         "DIR/all.tar.xz: \\x1b[2J is a 7-Zip archive: unpack it first"},
    };
    struct scratch s;
    struct buf found = {0};
    scratch_open(&s);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pack(&s, "all.tar.xz", ARCHIVE_FORMAT_TAR_PAX_RESTRICTED, ARCHIVE_FILTER_XZ,
             &rows[i].member, 1);
        assert_int_equal(read_all(&found, &s, "all.tar.xz"), ERR_FORMAT);
        assert_string_equal(scratch_sentence(&s, err_text()), rows[i].sentence);
    }
    struct archive *a = archive_write_new();
    archive_write_set_format_raw(a);
    archive_write_add_filter_gzip(a);
    archive_write_open_filename(a, scratch_path(&s, "x.bin.gz"));
    add_member(a, &(struct member){"x", "ab\0cd", 0}, 5);
    archive_write_close(a);
    archive_write_free(a);
    assert_int_equal(read_all(&found, &s, "x.bin.gz"), ERR_FORMAT);
    assert_string_equal(scratch_sentence(&s, err_text()),
                        "DIR/x.bin.gz is not text: byte 2 is NUL; token files end in .bin");
    buf_release(&found);
    scratch_close(&s);
}

/* Cut anywhere or with a byte changed: a sentence or some text, never more. */
static void damage_is_told(void **state)
{
    (void)state;
    static const char *const names[] = {"d.gz", "d.bz2", "d.xz", "d.zst", "d.zip"};
    struct scratch s;
    struct buf text = {0}, whole = {0}, found = {0};
    scratch_open(&s);
    make_text(&text, 3000);
    struct member m = {"d.txt", buf_text(&text), 0};
    for (int i = 0; i < 5; i++) {
        whole.n = 0;
        pack(&s, names[i], i == 4 ? ARCHIVE_FORMAT_ZIP : ARCHIVE_FORMAT_RAW,
             i == 4 ? ARCHIVE_FILTER_NONE : filters[i], &m, 1);
        assert_ok(file_read_all(&whole, scratch_path(&s, names[i]), 1 << 24));
        for (size_t part = 1; part < 10; part++) {
            size_t n = whole.n * part / 11;
            scratch_write(&s, names[i], whole.data, n);
            assert_int_equal(read_all(&found, &s, names[i]), ERR_FORMAT);
            if (strstr(err_text(), "cannot unpack") == NULL)
                fail_msg("%s cut to %zu bytes: %s", names[i], n, err_text());
        }
        for (size_t k = 0; k < 40; k++) {
            size_t at = 8 + (whole.n - 8) * k / 40;
            whole.data[at] ^= 0x15;
            scratch_write(&s, names[i], whole.data, whole.n);
            if (read_all(&found, &s, names[i]) != 0)
                assert_true(*err_text() != '\0');
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
    make_text(&text, 20);
    assert_ok(buf_printf(&plain, "%s|", buf_text(&text)));
    struct member m = {"s.txt", buf_text(&text), 0};
    for (int i = 0; i < N; i++) {
        whole.n = 0;
        pack(&s, names[i],
             i == ZIP ? ARCHIVE_FORMAT_ZIP
             : i < 3  ? ARCHIVE_FORMAT_RAW
                      : ARCHIVE_FORMAT_TAR_PAX_RESTRICTED,
             i == ZIP ? ARCHIVE_FILTER_NONE : filters[filter_of[i]], &m, 1);
        assert_ok(file_read_all(&whole, scratch_path(&s, names[i]), 1 << 24));
        assert_ok(read_all(&found, &s, names[i]));
        assert_string_equal(buf_text(&found), buf_text(&plain));
        for (size_t n = 6; n < whole.n && i != ZIP; n++) {
            scratch_write(&s, names[i], whole.data, n);
            if (read_all(&found, &s, names[i]) == 0)
                fail_msg("%s cut to %zu of %zu bytes is read", names[i], n, whole.n);
        }
        for (size_t at = 6; at < whole.n && i != ZST; at++) {
            whole.data[at] ^= 0x15;
            scratch_write(&s, names[i], whole.data, whole.n);
            if (read_all(&found, &s, names[i]) == 0 &&
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

/* Members behind each other, each with its checksum, and what may stand behind them. */
static void gzip_members_are_checked(void **state)
{
    (void)state;
    struct scratch s;
    struct buf whole = {0}, found = {0};
    size_t one = 0;
    scratch_open(&s);
    for (int i = 0; i < 2; i++) {
        struct member m = {"x", i == 0 ? "one " : "two", 0};
        pack(&s, "part.gz", ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_GZIP, &m, 1);
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
        assert_fails(read_all(&found, &s, "x.txt.gz"), ERR_FORMAT, rows[i % 2].sentence);
        *byte ^= 1;
    }
    scratch_write(&s, "x.txt.gz", whole.data, n - 8);
    assert_fails(read_all(&found, &s, "x.txt.gz"), ERR_FORMAT, "it is cut off");
    for (int i = 0; i < 1000; i++)
        assert_ok(buf_char(&whole, '\0'));
    scratch_write(&s, "x.txt.gz", whole.data, whole.n); /* as tapes have it */
    assert_ok(read_all(&found, &s, "x.txt.gz"));
    assert_string_equal(buf_text(&found), "one two|");
    whole.data[n + 7] = 'x';
    scratch_write(&s, "x.txt.gz", whole.data, n + 8);
    assert_fails(read_all(&found, &s, "x.txt.gz"), ERR_FORMAT,
                 "behind its end there are bytes that gzip did not write");
    buf_release(&whole);
    buf_release(&found);
    scratch_close(&s);
}

/* From before POSIX: only the sum of its header says that it is a tar. */
static void old_tars_are_unpacked(void **state)
{
    (void)state;
    struct scratch s;
    struct buf found = {0};
    scratch_open(&s);
    for (int i = 0; i < 2; i++) {
        struct archive *a = archive_write_new();
        assert_int_equal(archive_write_set_format_v7tar(a), ARCHIVE_OK);
        assert_int_equal(
            archive_write_add_filter(a, i == 0 ? ARCHIVE_FILTER_NONE : ARCHIVE_FILTER_GZIP),
            ARCHIVE_OK);
        assert_int_equal(archive_write_open_filename(a, scratch_path(&s, "old")), ARCHIVE_OK);
        add_member(a, &(struct member){"a.txt", "old", 0}, 3);
        add_member(a, &(struct member){"b.txt", "older", 0}, 5);
        archive_write_close(a);
        archive_write_free(a);
        assert_ok(read_all(&found, &s, "old"));
        assert_string_equal(buf_text(&found), "old|older|");
    }
    buf_release(&found);
    scratch_close(&s);
}

static void bombs_are_refused(void **state)
{
    (void)state;
    enum { PART = 1 << 20, PARTS = 96 };
    struct scratch s;
    struct buf found = {0}, part = {0};
    scratch_open(&s);
    for (int i = 0; i < PART / 8; i++)
        assert_ok(buf_str(&part, "a bomb.\n"));
    struct archive *a = archive_write_new();
    struct archive_entry *e = archive_entry_new();
    archive_write_set_format_raw(a);
    archive_write_add_filter_zstd(a);
    archive_write_open_filename(a, scratch_path(&s, "bomb.zst"));
    archive_entry_set_filetype(e, AE_IFREG);
    archive_write_header(a, e);
    for (int i = 0; i < PARTS; i++)
        assert_int_equal(archive_write_data(a, part.data, part.n), part.n);
    archive_entry_free(e);
    archive_write_close(a);
    archive_write_free(a);
    assert_int_equal(read_all(&found, &s, "bomb.zst"), ERR_RANGE);
    if (strstr(err_text(), "unpacks to more than 200 times its size") == NULL)
        fail_msg("%s", err_text());
    buf_release(&found);
    buf_release(&part);
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressed_text_is_the_text),
        cmocka_unit_test(archives_are_folders),
        cmocka_unit_test(what_is_no_text_is_named),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(what_is_packed_inside_is_unpacked),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(checksums_are_compared),
        cmocka_unit_test(gzip_members_are_checked),
        cmocka_unit_test(old_tars_are_unpacked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
