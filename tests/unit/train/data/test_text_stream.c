/* Texts that come compressed or in archives. */
#include "tests/lib/test.h"

#include "tests/lib/packed.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

static void compressed_text_is_the_text(void **state)
{
    (void)state;
    struct scratch s;
    struct buf text = {0}, plain = {0}, packed = {0};
    char name[32];
    scratch_open(&s);
    pack_text(&text, 60000);
    scratch_write(&s, "plain.txt", text.data, text.n);
    assert_ok(pack_read(&plain, &s, "plain.txt"));
    for (int i = 0; i < PACK_FILTERS; i++) {
        struct packed_member m = {"x", buf_text(&text), 0};
        snprintf(name, sizeof name, "novel.txt.%s", pack_endings[i]);
        pack_file(&s, name, ARCHIVE_FORMAT_RAW, pack_filters[i], &m, 1);
        assert_ok(pack_read(&packed, &s, name));
        assert_int_equal(packed.n, plain.n);
        assert_memory_equal(packed.data, plain.data, plain.n);
    }
    struct packed_member lines = {"x", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n", 0};
    pack_file(&s, "web.jsonl.zst", ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_ZSTD, &lines, 1);
    assert_ok(pack_read(&packed, &s, "web.jsonl.zst"));
    assert_string_equal(buf_text(&packed), "one|two|");
    /* A program that packs in parallel writes several streams one behind the other. */
    FILE *f = fopen(scratch_path(&s, "plain.txt.gz"), "wb");
    for (int i = 0; i < 2; i++) {
        struct packed_member m = {"x", i == 0 ? "one " : "two", 0};
        struct buf part = {0};
        pack_file(&s, "part.gz", ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_GZIP, &m, 1);
        assert_ok(file_read_all(&part, scratch_path(&s, "part.gz"), 1 << 20));
        assert_int_equal(fwrite(part.data, 1, part.n, f), part.n);
        buf_release(&part);
    }
    fclose(f);
    assert_ok(pack_read(&packed, &s, "plain.txt.gz"));
    assert_string_equal(buf_text(&packed), "one two|");
    buf_release(&text);
    buf_release(&plain);
    buf_release(&packed);
    scratch_close(&s);
}

/* As an empty file, which says nothing. */
static void nothing_may_be_compressed(void **state)
{
    (void)state;
    struct scratch s;
    struct buf found = {0}, part = {0};
    char name[32];
    scratch_open(&s);
    for (int i = 0; i < PACK_FILTERS; i++) {
        struct packed_member m = {"x", "", 0};
        snprintf(name, sizeof name, "none.txt.%s", pack_endings[i]);
        pack_file(&s, name, ARCHIVE_FORMAT_RAW, pack_filters[i], &m, 1);
        assert_ok(pack_read(&found, &s, name));
        assert_int_equal(found.n, 0);
        /* Not whole, it is as any other. */
        part.n = 0;
        assert_ok(file_read_all(&part, scratch_path(&s, name), 1 << 20));
        scratch_write(&s, name, part.data, part.n - 1);
        assert_int_equal(pack_read(&found, &s, name), ERR_FORMAT);
        assert_non_null(strstr(err_text(), "is cut off after "));
    }
    buf_release(&found);
    buf_release(&part);
    scratch_close(&s);
}

/* Each file of an archive is a document; what a folder would leave out is left out, and no
 * name is ever a place to write to. */
static void archives_are_folders(void **state)
{
    (void)state;
    static const struct packed_member list[] = {
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
    for (int k = 0; k < PACK_FILTERS + 2; k++) {
        char name[32];
        snprintf(name, sizeof name, "all.%s", k < PACK_FILTERS ? pack_endings[k] : "archive");
        pack_file(&s, name,
                  k == PACK_FILTERS + 1 ? ARCHIVE_FORMAT_ZIP : ARCHIVE_FORMAT_TAR_PAX_RESTRICTED,
                  k < PACK_FILTERS ? pack_filters[k] : ARCHIVE_FILTER_NONE, list,
                  sizeof list / sizeof list[0]);
        assert_ok(pack_read(&found, &s, name));
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
    static const struct packed_member texts[] = {{"1.txt", "one", 0}, {"2.txt", "two", 0}};
    static const struct packed_member more[] = {{"3.jsonl", "{\"text\": \"three\"}", 0}};
    struct scratch s;
    struct buf inner[2] = {0}, found = {0};
    scratch_open(&s);
    pack_file(&s, "a.xz", ARCHIVE_FORMAT_TAR_PAX_RESTRICTED, ARCHIVE_FILTER_XZ, texts, 2);
    pack_file(&s, "b.zip", ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, more, 1);
    assert_ok(file_read_all(&inner[0], scratch_path(&s, "a.xz"), 1 << 20));
    assert_ok(file_read_all(&inner[1], scratch_path(&s, "b.zip"), 1 << 20));
    struct archive *a = archive_write_new();
    archive_write_set_format_pax_restricted(a);
    archive_write_open_filename(a, scratch_path(&s, "all.tar"));
    pack_member(a, &(struct packed_member){"first.txt", "zero", 0}, 4);
    pack_member(a, &(struct packed_member){"a.xz", inner[0].data, 0}, inner[0].n);
    pack_member(a, &(struct packed_member){"b.zip", inner[1].data, 0}, inner[1].n);
    pack_member(a, &(struct packed_member){"last.txt", "four", 0}, 4);
    archive_write_close(a);
    archive_write_free(a);
    assert_ok(pack_read(&found, &s, "all.tar"));
    assert_string_equal(buf_text(&found), "zero|one|two|three|four|");
    for (int i = 0; i < 8; i++) { /* a zip in a zip, and so on */
        struct buf whole = {0};
        assert_ok(file_read_all(&whole, scratch_path(&s, i == 0 ? "b.zip" : "deep"), 1 << 20));
        a = archive_write_new();
        archive_write_set_format_zip(a);
        archive_write_open_filename(a, scratch_path(&s, "deep"));
        pack_member(a, &(struct packed_member){"x", whole.data, 0}, whole.n);
        archive_write_close(a);
        archive_write_free(a);
        buf_release(&whole);
        assert_int_equal(pack_read(&found, &s, "deep"), i < 7 ? 0 : ERR_FORMAT);
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
        struct packed_member member;
        const char *sentence;
    } rows[] = {
        {{"a/x.txt", "\x1f\x8b\b", 0}, "DIR/all.tar.xz: a/x.txt is cut off after 3 bytes"},
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
        pack_file(&s, "all.tar.xz", ARCHIVE_FORMAT_TAR_PAX_RESTRICTED, ARCHIVE_FILTER_XZ,
                  &rows[i].member, 1);
        assert_int_equal(pack_read(&found, &s, "all.tar.xz"), ERR_FORMAT);
        assert_string_equal(scratch_sentence(&s, err_text()), rows[i].sentence);
    }
    struct archive *a = archive_write_new();
    archive_write_set_format_raw(a);
    archive_write_add_filter_gzip(a);
    archive_write_open_filename(a, scratch_path(&s, "x.bin.gz"));
    pack_member(a, &(struct packed_member){"x", "ab\0cd", 0}, 5);
    archive_write_close(a);
    archive_write_free(a);
    assert_int_equal(pack_read(&found, &s, "x.bin.gz"), ERR_FORMAT);
    assert_string_equal(scratch_sentence(&s, err_text()),
                        "DIR/x.bin.gz is not text; of token files only .pkl and .tfrecord are read "
                        "packed: unpack it first");
    buf_release(&found);
    scratch_close(&s);
}

/* Behind a text, token files are left out whatever their bytes, and not as texts of a code page;
 * what only looks like an index is a text. */
static void tokens_are_no_texts(void **state)
{
    (void)state;
    static const struct packed_member list[] = {
        {"a.txt", "one", 0},
        {"b.pkl",
         "\x80\x02]K\x01"
         "ae.",
         0},
        {"c.tfrecord", "words", 0},
        {"c.index", "0 38\n38 38\n", 0},
        {"c.tfrecord.idx", "0 5", 0},
        {"d.index", "0 to 9", 0},
        {"e.txt", "0 38\n", 0},
    };
    struct scratch s;
    struct buf found = {0};
    scratch_open(&s);
    pack_file(&s, "all.zip", ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, list,
              sizeof list / sizeof list[0]);
    assert_ok(pack_read(&found, &s, "all.zip"));
    assert_string_equal(buf_text(&found), "one|0 to 9|0 38\n|");
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
        pack_member(a, &(struct packed_member){"a.txt", "old", 0}, 3);
        pack_member(a, &(struct packed_member){"b.txt", "older", 0}, 5);
        archive_write_close(a);
        archive_write_free(a);
        assert_ok(pack_read(&found, &s, "old"));
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
    assert_int_equal(pack_read(&found, &s, "bomb.zst"), ERR_RANGE);
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
        cmocka_unit_test(nothing_may_be_compressed),
        cmocka_unit_test(archives_are_folders),
        cmocka_unit_test(what_is_no_text_is_named),
        cmocka_unit_test(tokens_are_no_texts),
        cmocka_unit_test(what_is_packed_inside_is_unpacked),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(old_tars_are_unpacked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
