/* Texts that are not UTF-8: UTF-16 by its byte order mark, and code pages, which are refused. */
#include "tests/lib/data_set.h"
#include "tests/lib/packed.h"

#include "model/base/rng.h"
#include "train/data/text_reader.h"

#include <archive.h>
#include <utf8proc.h>

/* All of a file as the reader gives it, "|" behind each document. */
static int read_all(struct buf *out, const char *name)
{
    struct data_sources sources;
    struct text_reader r;
    struct buf piece = {0};
    size_t at = 0;
    bool ends;
    out->n = 0;
    int rc = data_sources_find(&sources, scratch_path(&data_scratch, name));
    if (rc != 0)
        return rc;
    text_reader_init(&r, sources.list, sources.n, "<|endoftext|>");
    while ((rc = text_reader_next(&r, &piece, &ends, &at)) == 0 && at < sources.n) {
        assert_ok(buf_add(out, piece.data, piece.n));
        if (ends)
            assert_ok(buf_char(out, '|'));
    }
    text_reader_release(&r);
    data_sources_release(&sources);
    buf_release(&piece);
    return rc;
}

static void add_unit(struct buf *out, unsigned unit, bool big)
{
    assert_ok(buf_char(out, (char)(big ? unit >> 8 : unit)));
    assert_ok(buf_char(out, (char)(big ? unit : unit >> 8)));
}

/* UTF-8 as UTF-16 with its mark. */
static void write_utf16(const char *name, const struct buf *text, bool big)
{
    struct buf out = {0};
    utf8proc_int32_t c;
    add_unit(&out, 0xfeff, big);
    for (size_t i = 0; i < text->n;) {
        i += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text->data + i,
                                      (utf8proc_ssize_t)(text->n - i), &c);
        if (c < 0x10000) {
            add_unit(&out, (unsigned)c, big);
        } else {
            add_unit(&out, 0xd800 + ((unsigned)(c - 0x10000) >> 10), big);
            add_unit(&out, 0xdc00 + ((unsigned)c & 0x3ff), big);
        }
    }
    scratch_write(&data_scratch, name, out.data, out.n);
    buf_release(&out);
}

/* Longer than what is read at once, so that characters lie across. */
static void make_text(struct buf *out, size_t bytes)
{
    static const char *const words[] = {
        " the", "\xc3\xa9", "\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\xa6\x8a",
        "\n",   " fox",     "<|endoftext|>\n",          "."};
    for (uint64_t i = 0; out->n < bytes; i++) {
        uint32_t w[4];
        rng_words(w, 3, 0, i);
        assert_ok(buf_str(out, words[w[0] % 8]));
    }
}

static void utf16_is_read_as_utf8_is(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 40, 5 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct buf text = {0}, want = {0}, have = {0};
        make_text(&text, sizes[i]);
        scratch_write(&data_scratch, "utf8.txt", text.data, text.n);
        assert_ok(read_all(&want, "utf8.txt"));
        for (int big = 0; big < 2; big++) {
            write_utf16("utf16.txt", &text, big);
            assert_ok(read_all(&have, "utf16.txt"));
            assert_int_equal(have.n, want.n);
            assert_memory_equal(have.data, want.data, want.n);
        }
        buf_release(&text);
        buf_release(&want);
        buf_release(&have);
    }
    struct buf lines = {0}, have = {0};
    assert_ok(buf_str(&lines, "{\"text\": \"\xc3\xa9\"}\n{\"text\": \"two\"}\n"));
    write_utf16("lines.jsonl", &lines, false);
    assert_ok(read_all(&have, "lines.jsonl"));
    assert_string_equal(buf_text(&have), "\xc3\xa9|two|");
    write_utf16("again.txt", &(struct buf){0}, true); /* the mark alone */
    assert_ok(read_all(&have, "again.txt"));
    assert_int_equal(have.n, 0);
    buf_release(&lines);
    buf_release(&have);
}

/* As any other text in a folder, and never what its bytes would be otherwise. */
static void utf16_is_encoded(void **state)
{
    (void)state;
    assert_ok(file_make_folder(scratch_path(&data_scratch, "both")));
    scratch_write(&data_scratch, "both/a.txt", "\xff\xfeo\0n\0e\0", 8);
    data_text("both/b.txt", "two");
    data_expect("both", "|one$|two$");
    scratch_write(&data_scratch, "both/a.txt", "\xfe\xff\0o\0n\0e", 8);
    data_expect("both", "|one$|two$");
}

static void broken_utf16_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *sentence;
    } cases[] = {
        {"\xff\xfe"
         "a\0b",
         5,
         "DIR/x.txt begins as UTF-16 and is none: it ends in the middle of the character at byte "
         "4"},
        {"\xff\xfe"
         "a\0\x3d\xd8",
         6,
         "DIR/x.txt begins as UTF-16 and is none: it ends in the middle of the character at byte "
         "4"},
        {"\xff\xfe"
         "\x3d\xd8"
         "a\0",
         6, "DIR/x.txt begins as UTF-16 and is none: byte 2 begins half a surrogate pair"},
        {"\xfe\xff"
         "\0a\xdc\0",
         6, "DIR/x.txt begins as UTF-16 and is none: byte 4 begins half a surrogate pair"},
        {"\xff\xfe\0\0a\0\0\0", 8, /* UTF-32 */
         "DIR/x.txt is UTF-32: `iconv -f UTF-32 -t UTF-8 DIR/x.txt > NEW`"},
        {"\0\0\xfe\xff\0\0\0a", 8,
         "DIR/x.txt is UTF-32: `iconv -f UTF-32 -t UTF-8 DIR/x.txt > NEW`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf have = {0};
        scratch_write(&data_scratch, "x.txt", cases[i].bytes, cases[i].n);
        assert_int_equal(read_all(&have, "x.txt"), ERR_FORMAT);
        assert_string_equal(scratch_sentence(&data_scratch, err_text()), cases[i].sentence);
        buf_release(&have);
    }
}

/* Without a mark it may be UTF-16, where letters have a NUL each, or something else. */
static void unmarked_utf16_has_its_hint(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *sentence;
    } cases[] = {
        {"o\0n\0e\0.\0", 8,
         "DIR/x.txt is not text: byte 1 is NUL; if it is UTF-16: `iconv -f UTF-16LE -t UTF-8 "
         "DIR/x.txt > NEW`"},
        {"\0o\0n\0e\x20\x14\0.", 10,
         "DIR/x.txt is not text: byte 0 is NUL; if it is UTF-16: `iconv -f UTF-16BE -t UTF-8 "
         "DIR/x.txt > NEW`"},
        {"o\0\0\0n\0\0\0", 8, "DIR/x.txt is not text: byte 1 is NUL; token files end in .bin"},
        {"one\0two three", 13, "DIR/x.txt is not text: byte 3 is NUL; token files end in .bin"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf have = {0};
        scratch_write(&data_scratch, "x.txt", cases[i].bytes, cases[i].n);
        assert_int_equal(read_all(&have, "x.txt"), ERR_FORMAT);
        assert_string_equal(scratch_sentence(&data_scratch, err_text()), cases[i].sentence);
        buf_release(&have);
    }
}

static void code_pages_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *sentence;
    } cases[] = {
        {"latin1.txt", "caf\xe9 and more",
         "DIR/latin1.txt is not UTF-8: byte 3 is e9; if it is Latin-1: `iconv -f LATIN1 -t UTF-8 "
         "DIR/latin1.txt > NEW`"},
        {"end.txt", "caf\xe9",
         "DIR/end.txt is not UTF-8: byte 3 is e9; if it is Latin-1: `iconv -f LATIN1 -t UTF-8 "
         "DIR/end.txt > NEW`"},
        {"overlong.txt", "\xc0\xaf x",
         "DIR/overlong.txt is not UTF-8: byte 0 is c0; if it is Latin-1: `iconv -f LATIN1 -t UTF-8 "
         "DIR/overlong.txt > NEW`"},
        {"lines.jsonl", "{\"text\": \"caf\xe9\"}\n",
         "DIR/lines.jsonl is not UTF-8: byte 13 is e9; if it is Latin-1: `iconv -f LATIN1 -t UTF-8 "
         "DIR/lines.jsonl > NEW`"},
        {"windows.txt", "caf\xe9 \x93quoted\x94",
         "DIR/windows.txt is not UTF-8: byte 3 is e9; if it is Windows-1252: `iconv -f "
         "WINDOWS-1252 -t UTF-8 DIR/windows.txt > NEW`"},
        {"two words.txt", "caf\xe9",
         "DIR/two words.txt is not UTF-8: byte 3 is e9; if it is Latin-1: `iconv -f LATIN1 -t "
         "UTF-8 'DIR/two words.txt' > NEW`"},
        {"mixed.txt", "caf\xc3\xa9, caf\xe9.",
         "DIR/mixed.txt is not UTF-8: byte 10 is e9; `iconv -c -f UTF-8 -t UTF-8 DIR/mixed.txt > "
         "NEW` leaves out what is not"},
        {"mixed.jsonl", "{\"text\": \"caf\xc3\xa9\"}\n{\"text\": \"\xff\"}\n",
         "DIR/mixed.jsonl is not UTF-8: byte 28 is ff; `iconv -c -f UTF-8 -t UTF-8 "
         "DIR/mixed.jsonl > NEW` leaves out what is not"},
        {"utf8.txt", "caf\xc3\xa9", NULL},
        {"mark.txt", "\xef\xbb\xbf caf", NULL},
        {"cut.txt", "caf\xc3\xa9, caf\xc3", NULL}, /* as head -c does */
    };
    struct buf have = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch_write(&data_scratch, cases[i].name, cases[i].text, strlen(cases[i].text));
        int rc = read_all(&have, cases[i].name);
        if (cases[i].sentence == NULL)
            assert_ok(rc);
        else
            assert_int_equal(rc, ERR_FORMAT);
        if (rc != 0)
            assert_string_equal(scratch_sentence(&data_scratch, err_text()), cases[i].sentence);
    }
    assert_string_equal(buf_text(&have), "caf\xc3\xa9, caf\xc3|");
    buf_release(&have);
}

static void packed_texts_are_to_be_unpacked_first(void **state)
{
    (void)state;
    static const struct packed_member latin1[] = {{"b/a.txt", "caf\xe9", 0}};
    static const char *const names[] = {"x.txt.gz", "x.zip"};
    struct buf have = {0};
    for (int zip = 0; zip < 2; zip++) {
        char want[300];
        pack_file(&data_scratch, names[zip], zip ? ARCHIVE_FORMAT_ZIP : ARCHIVE_FORMAT_RAW,
                  zip ? ARCHIVE_FILTER_NONE : ARCHIVE_FILTER_GZIP, latin1, 1);
        assert_int_equal(read_all(&have, names[zip]), ERR_FORMAT);
        snprintf(want, sizeof want,
                 "DIR/%s%s is not UTF-8: byte 3 is e9; unpack it first; if it is Latin-1: `iconv "
                 "-f LATIN1 -t UTF-8 %s > NEW`",
                 names[zip], zip ? ": b/a.txt" : "", zip ? "b/a.txt" : "DIR/x.txt");
        assert_string_equal(scratch_sentence(&data_scratch, err_text()), want);
    }
    buf_release(&have);
}

/* Wherever the first character beyond ASCII is, across what is read at once too. */
static void far_bytes_are_found(void **state)
{
    (void)state;
    enum { MIB = 1 << 20 };
    struct buf text = {0}, have = {0};
    char want[120];
    for (size_t i = 0; text.n < 3 * MIB; i++)
        assert_ok(buf_str(&text, i % 9 == 0 ? "line\n" : "word "));
    for (size_t at = 2 * MIB - 5; at < 2 * MIB + 5; at++) {
        char was[2];
        memcpy(was, text.data + at, 2);
        memcpy(text.data + at, "\xc3\xa9", 2);
        scratch_write(&data_scratch, "far.txt", text.data, text.n);
        assert_ok(read_all(&have, "far.txt"));
        assert_memory_equal(have.data, text.data, text.n - 1);
        text.data[at + 1] = 'e';
        scratch_write(&data_scratch, "far.txt", text.data, text.n);
        assert_int_equal(read_all(&have, "far.txt"), ERR_FORMAT);
        snprintf(want, sizeof want, "DIR/far.txt is not UTF-8: byte %zu is c3;", at);
        assert_memory_equal(scratch_sentence(&data_scratch, err_text()), want, strlen(want));
        memcpy(text.data + at, was, 2);
    }
    buf_release(&text);
    buf_release(&have);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf16_is_read_as_utf8_is),
        cmocka_unit_test(utf16_is_encoded),
        cmocka_unit_test(broken_utf16_is_named),
        cmocka_unit_test(unmarked_utf16_has_its_hint),
        cmocka_unit_test(code_pages_are_refused),
        cmocka_unit_test(far_bytes_are_found),
        cmocka_unit_test(packed_texts_are_to_be_unpacked_first),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
