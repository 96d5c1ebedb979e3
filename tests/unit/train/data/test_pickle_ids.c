/* Pickled lists of ids: as Python and NumPy write them, and nothing that a pickle asks for happens.
 */
#include "tests/lib/test.h"

#include "tests/lib/notes.h"
#include "tests/lib/packed.h"
#include "train/data/source.h"
#include "train/data/token_file.h"

#include <archive.h>

enum { END = 50256, N = 15, DOCUMENTS = 4 };
/* Of tests/golden/pickle_reference.py, without the document that has no ids. */
static const token_id ids[N] = {1, 2, END, 300, 0, 65535, 128, 255, 256, END, 7, 9, 8, 7, 6};
static const uint64_t bounds[DOCUMENTS + 1] = {0, 3, 10, 11, 15};

static struct scratch folder;

/* `more`: each document without one ends with the separator. */
static void check_file(const char *path, bool more)
{
    struct token_file f;
    token_id found[N + DOCUMENTS];
    if (token_file_open(&f, TOKENS_PICKLE, path, more ? END : TOKEN_NONE, NULL) != 0)
        fail_msg("%s", err_text());
    assert_int_equal(f.n_tokens, N + 2 * more);
    assert_int_equal(f.n_documents, DOCUMENTS);
    assert_ok(token_file_read(&f, found, 0, (size_t)f.n_tokens, 65536));
    for (uint64_t i = 0; i < DOCUMENTS; i++) {
        const uint64_t n = bounds[i + 1] - bounds[i], added = more * (i == 3);
        assert_int_equal(f.documents[i], bounds[i] + added);
        assert_memory_equal(found + f.documents[i], ids + bounds[i], n * sizeof *ids);
        if (more)
            assert_int_equal(found[f.documents[i + 1] - 1], END);
    }
    token_file_close(&f);
}

static void lists_are_as_python_writes_them(void **state)
{
    (void)state;
    static const char *const kinds[] = {"lists",  "tuples", "numbers", "several",
                                        "uint16", "int32",  "int64"};
    char path[64];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int protocol = 2; protocol <= 5; protocol++)
            for (int more = 0; more < 2; more++) {
                snprintf(path, sizeof path, "tests/golden/pickle/%s-%d.pkl", kinds[i], protocol);
                check_file(path, more);
            }
}

/* Compressed, whole and cut off. */
static void packed_lists_are_the_same(void **state)
{
    (void)state;
    struct buf pickle = {0}, whole = {0};
    struct token_file f;
    char name[32];
    assert_ok(file_read_all(&pickle, "tests/golden/pickle/lists-4.pkl", 1 << 20));
    for (int i = 0; i < PACK_FILTERS; i++) {
        struct archive *a = archive_write_new();
        snprintf(name, sizeof name, "lists.pkl.%s", pack_endings[i]);
        archive_write_set_format_raw(a);
        archive_write_add_filter(a, pack_filters[i]);
        archive_write_open_filename(a, scratch_path(&folder, name));
        pack_member(a, &(struct packed_member){"x", pickle.data, 0}, pickle.n);
        archive_write_close(a);
        archive_write_free(a);
        struct data_sources sources;
        assert_ok(data_sources_find(&sources, scratch_path(&folder, name)));
        assert_int_equal(sources.list[0].kind, DATA_PICKLE);
        data_sources_release(&sources);
        check_file(scratch_path(&folder, name), true);
        whole.n = 0;
        assert_ok(file_read_all(&whole, scratch_path(&folder, name), 1 << 20));
        scratch_write(&folder, name, whole.data, whole.n - 3);
        assert_fails(token_file_open(&f, TOKENS_PICKLE, scratch_path(&folder, name), END, NULL),
                     ERR_FORMAT, "is cut off after");
    }
    buf_release(&pickle);
    buf_release(&whole);
}

static void write_tar(const char *name, const struct packed_member *list, const size_t *bytes,
                      size_t n)
{
    struct archive *a = archive_write_new();
    archive_write_set_format_pax(a);
    archive_write_add_filter(a, ARCHIVE_FILTER_GZIP);
    archive_write_open_filename(a, scratch_path(&folder, name));
    for (size_t i = 0; i < n; i++)
        pack_member(a, &list[i], bytes[i]);
    archive_write_close(a);
    archive_write_free(a);
}

static enum data_kind kind_of(const char *name)
{
    struct data_sources sources;
    assert_ok(data_sources_find(&sources, scratch_path(&folder, name)));
    const enum data_kind kind = sources.list[0].kind;
    data_sources_release(&sources);
    return kind;
}

/* The files of an archive follow one another; what is no list of ids is left out, and noted. */
static void lists_in_archives_are_documents(void **state)
{
    (void)state;
    static const char first[] = "\x80\x02](](K\1K\2e](K\3ee.", second[] = "\x80\x02](](K\4ee.",
                      other[] = "\x80\x02}.";
    static const struct packed_member list[] = {
        {".hidden/x.txt", "text", 0}, {"meta.pkl", other, 0},      {"a/one.pkl", first, 0},
        {"README", "text", 0},        {"a/two.pickle", second, 0}, {"late.pkl", second, 0}};
    static const size_t bytes[] = {4, sizeof other - 1,  sizeof first - 1,
                                   4, sizeof second - 1, sizeof second - 2};
    static const token_id expected[] = {1, 2, END, 3, END, 4, END};
    struct notes notes = {0};
    const struct progress p = {.note = notes_take, .user = &notes};
    struct token_file f;
    token_id found[7];
    write_tar("lists.tgz", list, bytes, 5);
    assert_int_equal(kind_of("lists.tgz"), DATA_PICKLE);
    assert_ok(token_file_open(&f, TOKENS_PICKLE, scratch_path(&folder, "lists.tgz"), END, &p));
    assert_int_equal(f.n_documents, 3);
    assert_int_equal(f.n_tokens, 7);
    assert_ok(token_file_read(&f, found, 0, 7, 0));
    assert_memory_equal(found, expected, sizeof expected);
    token_file_close(&f);
    assert_int_equal(notes.n, 1);
    assert_string_equal(scratch_sentence(&folder, notes.first),
                        "left out: DIR/lists.tgz: meta.pkl is not a pickled list of lists of token "
                        "ids; also DIR/lists.tgz: README");
    write_tar("lists.tgz", list, bytes, 6);
    assert_int_equal(
        token_file_open(&f, TOKENS_PICKLE, scratch_path(&folder, "lists.tgz"), END, NULL),
        ERR_FORMAT);
    assert_non_null(strstr(scratch_sentence(&folder, err_text()), "DIR/lists.tgz: late.pkl: "));
    write_tar("lists.tgz", list + 3, bytes + 3, 2);
    assert_int_equal(kind_of("lists.tgz"), DATA_TEXT);
    write_tar("lists.tgz", list, bytes, 2);
    struct data_sources none;
    assert_fails(data_sources_find(&none, scratch_path(&folder, "lists.tgz")), ERR_FORMAT,
                 "lists.tgz is not a pickled list of lists of token ids");
    assert_fails(token_file_open(&f, TOKENS_PICKLE, scratch_path(&folder, "lists.tgz"), END, NULL),
                 ERR_FORMAT, "lists.tgz has no file of token ids");
}

static int read_bytes(const char *bytes, size_t n, struct token_file *f, token_id separator)
{
    scratch_write(&folder, "x.pkl", bytes, n);
    return token_file_open(f, TOKENS_PICKLE, scratch_path(&folder, "x.pkl"), separator, NULL);
}

/* A list that is used twice is two documents, each with its end. */
static void a_list_may_come_again(void **state)
{
    (void)state;
    static const char twice[] = "\x80\x04]\x94(]\x94(K\1K\2eh\1]\x94K\3ah\1e.";
    static const token_id expected[] = {1, 2, END, 1, 2, END, 3, END, 1, 2, END};
    struct token_file f;
    token_id found[11];
    assert_ok(read_bytes(twice, sizeof twice - 1, &f, END));
    assert_int_equal(f.n_documents, 4);
    assert_int_equal(f.n_tokens, 11);
    assert_ok(token_file_read(&f, found, 0, 11, 0));
    assert_memory_equal(found, expected, sizeof expected);
    token_file_close(&f);
}

/* More ids than a block, in more than one batch. */
static void long_lists_are_read(void **state)
{
    (void)state;
    struct buf b = {0};
    struct token_file f;
    token_id found[4];
    assert_ok(buf_str(&b, "\x80\x02]("));
    for (int i = 0; i < 3; i++) {
        assert_ok(buf_str(&b, "]"));
        for (int k = 0; k < 30000; k++) {
            assert_ok(k % 1000 == 0 ? buf_char(&b, '(') : 0);
            assert_ok(buf_add(&b, "M\x34\x12", 3));
            assert_ok(k % 1000 == 999 ? buf_char(&b, 'e') : 0);
        }
    }
    assert_ok(buf_str(&b, "e."));
    assert_ok(read_bytes(b.data, b.n, &f, 5));
    assert_int_equal(f.n_documents, 3);
    assert_int_equal(f.n_tokens, 90003);
    assert_ok(token_file_read(&f, found, 29999, 3, 0));
    assert_int_equal(found[0], 0x1234);
    assert_int_equal(found[1], 5);
    assert_int_equal(found[2], 0x1234);
    token_file_close(&f);
    buf_release(&b);
}

static void what_is_no_list_of_lists_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        int code;
        const char *sentence;
    } rows[] = {
#define ROW(bytes, code, sentence) {bytes, sizeof bytes - 1, code, sentence}
        ROW("\x80\x02](cposix\nsystem\nU\4true\x85Re.", ERR_UNSUPPORTED,
            "DIR/x.pkl: the pickle asks for posix.system, which lists of ids do not need: "
            "refused, and nothing of it was executed"),
        ROW("\x80\x04]\x94(\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.", ERR_UNSUPPORTED,
            "asks for posix.system"),
        ROW("\x80\x02]}a.", ERR_UNSUPPORTED, "has opcode EMPTY_DICT (0x7d) at byte 3, which "),
        ROW("(lp0\n(lp1\nI7\naa.", ERR_UNSUPPORTED,
            "DIR/x.pkl is a pickle of protocol 0, which is not read: write it again by "
            "pickle.dump(lists, file, protocol=2)"),
        ROW("\x80\x02](U\4texte.", ERR_FORMAT,
            "DIR/x.pkl: the list at byte 11 is not of token ids: expected a list of lists of whole "
            "numbers"),
        ROW("\x80\x02](K\1]e.", ERR_FORMAT, "is not of token ids"),
        ROW("\x80\x02](](](K\1eee.", ERR_FORMAT, "is not of token ids"),
        ROW("\x80\x02]G\0\0\0\0\0\0\0\0a.", ERR_FORMAT, "is not of token ids"),
        ROW("\x80\x02](K\1J\xff\xff\xff\xff"
            "e.",
            ERR_RANGE, "DIR/x.pkl: an id is -1, expected 0 to 2147483647"),
        ROW("\x80\x02]\x8a\5\0\0\0\0\1a.", ERR_RANGE, "an id is 4294967296"),
        ROW("\x80\x02]\x8a\x09\0\0\0\0\0\0\0\0\1a.", ERR_FORMAT, "of more than 8 bytes"),
        ROW("\x80\x02].", ERR_FORMAT, "DIR/x.pkl has no tokens"),
        ROW("\x80\x02](K\1", ERR_FORMAT, "is broken at byte 6: it ends before its STOP"),
        ROW("\x80\x02K\1.", ERR_FORMAT, "is not of token ids"),
        ROW("\x80\x02K\1e.", ERR_FORMAT, "there is no mark on the stack"),
        ROW("\x80\x02]h\5.", ERR_FORMAT, "the memo has nothing in that place"),
        ROW("\x80\x02]r\xff\xff\xff\xff.", ERR_FORMAT, "the memo is not filled in order"),
        ROW("\x80\x02]X\xff\xff\xff\xff", ERR_FORMAT, "it ends inside a text"),
        /* An array of 1000 elements in four bytes, of two dimensions, of another byte order. */
        ROW("\x80\x02"
            "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\1b\x87R(K\1M\xe8\x03"
            "\x85"
            "cnumpy\ndtype\nU\2u2K\0K\1\x87R\x89U\4abcdtb.",
            ERR_FORMAT, "an array has fewer bytes than its shape says"),
        ROW("\x80\x02"
            "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\1b\x87R(K\1K\1K\2\x86"
            "cnumpy\ndtype\nU\2u2K\0K\1\x87R\x89U\4abcdtb.",
            ERR_UNSUPPORTED, "an array has 0 or several dimensions, expected 1"),
        ROW("\x80\x02"
            "cnumpy\ndtype\nU\2u2K\0K\1\x87R(K\3U\1>NNNNNNtb.",
            ERR_UNSUPPORTED, "an array's numbers are not little-endian"),
        ROW("\x80\x02"
            "cnumpy\ndtype\nU\2f4K\0K\1\x87R.",
            ERR_UNSUPPORTED, "an array of type f4, expected whole numbers"),
#undef ROW
    };
    struct token_file f;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(read_bytes(rows[i].bytes, rows[i].n, &f, END), rows[i].code);
        if (strstr(scratch_sentence(&folder, err_text()), rows[i].sentence) == NULL)
            fail_msg("row %zu: %s", i, err_text());
    }
}

/* Every cut fails with a sentence; no change of a byte does more than to change the ids. */
static void damage_is_survived(void **state)
{
    (void)state;
    static const char *const files[] = {"lists-4", "tuples-3", "uint16-2", "int32-5", "numbers-4"};
    char path[64];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct buf b = {0};
        struct token_file f;
        snprintf(path, sizeof path, "tests/golden/pickle/%s.pkl", files[i]);
        assert_ok(file_read_all(&b, path, 10000));
        for (size_t n = 1; n < b.n; n++) {
            assert_int_not_equal(read_bytes(b.data, n, &f, END), 0);
            assert_non_null(strstr(err_text(), "x.pkl"));
        }
        for (size_t at = 0; at < b.n; at++) {
            b.data[at] ^= 0x15;
            if (read_bytes(b.data, b.n, &f, END) == 0)
                assert_int_equal(f.documents[f.n_documents], f.n_tokens);
            token_file_close(&f);
            b.data[at] ^= 0x15;
        }
        buf_release(&b);
    }
}

static void no_memory_is_survived(void **state)
{
    (void)state;
    struct token_file f;
    int rc = ERR_NOMEM;
    for (uint64_t k = 1; rc != 0; k++) {
        mem_fail_at(k);
        rc = token_file_open(&f, TOKENS_PICKLE, "tests/golden/pickle/uint16-4.pkl", END, NULL);
        mem_fail_at(0);
        if (rc != 0)
            assert_int_equal(rc, ERR_NOMEM);
    }
    token_file_close(&f);
}

static int open_folder(void **state)
{
    (void)state;
    scratch_open(&folder);
    return setenv("XDG_CACHE_HOME", folder.folder, 1);
}

static int close_folder(void **state)
{
    (void)state;
    scratch_close(&folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_as_python_writes_them),
        cmocka_unit_test(packed_lists_are_the_same),
        cmocka_unit_test(lists_in_archives_are_documents),
        cmocka_unit_test(a_list_may_come_again),
        cmocka_unit_test(long_lists_are_read),
        cmocka_unit_test(what_is_no_list_of_lists_is_refused),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(no_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
