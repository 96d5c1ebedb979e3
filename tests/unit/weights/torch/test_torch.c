/* torch checkpoints: pickles and zips made by hand, and what torch itself wrote. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "tests/lib/tokenizer_golden.h"
#include "weights/torch/pickle.h"
#include "weights/hf/safetensors.h"
#include "weights/torch/torch.h"
#include "weights/torch/torch_zip.h"

#include <stdio.h>
#include <unistd.h>

/* Pieces of pickles. S: a storage '0' of floats with n elements (a byte). */
#define TENSOR "ctorch._utils\n_rebuild_tensor_v2\n"
#define S(type, n)                                                                                 \
    "(X\x07\0\0\0storagectorch\n" type "\nX\x01\0\0\0"                                             \
    "0X\x03\0\0\0"                                                                                 \
    "cpuK" n "tQ"
#define TAIL                                                                                       \
    "\x89"                                                                                         \
    "ccollections\nOrderedDict\n)R"
#define SIZE_2_3 "K\x02K\x03\x86K\x03K\x01\x86"
#define T(type, n, first, shape) TENSOR "(" S(type, n) "K" first shape TAIL "tR"
#define NAME(c) "X\x01\0\0\0" c
#define ONE(value) "\x80\x02}" NAME("w") value "s."
#define FLOATS_2_3 T("FloatStorage", "\x06", "\0", SIZE_2_3)

struct row {
    const char *pickle;
    size_t n;
    int code;
    const char *sentence;
};
#define ROW(pickle, code, sentence)                                                                \
    {                                                                                              \
        pickle, sizeof(pickle) - 1, code, sentence                                                 \
    }
#define REFUSED ", which weights do not need: refused, and nothing of it was executed"

/* These say nothing of a model. */
static int read_pickle(struct pickle_tensor **t, int *n, const char *bytes, size_t n_bytes)
{
    json_t *about;
    int rc = pickle_read(t, n, &about, bytes, n_bytes);
    assert_null(about);
    return rc;
}

static void reads_a_dict_of_tensors(void **state)
{
    (void)state;
    static const char pickle[] =
        "\x80\x02"
        "ccollections\nOrderedDict\n)Rq\0(" NAME("a")
            FLOATS_2_3 NAME("b") "ctorch._utils\n_rebuild_parameter\n(" T(
                "HalfStorage", "\x06", "\x04",
                "K\x02\x85K\x01\x85") "\x88"
                                      "Ntr\x01\0\0\0R" /* memo after tuple */
        NAME("c") "K\x05" NAME("d") T("BoolStorage", "\x01", "\0", "))") NAME("e")
            T("BFloat16Storage", "\0", "\0",
              "K\0K\x05\x86K\x05K\x01\x86") "u}(X\x09\0\0\0_metadatah\0ub.";
    struct pickle_tensor *t;
    int n;
    assert_ok(read_pickle(&t, &n, pickle, sizeof pickle - 1));
    assert_int_equal(n, 4);
    assert_memory_equal(t[0].name, "a", 1);
    assert_int_equal(t[0].dtype, DTYPE_F32);
    assert_int_equal(t[0].rank, 2);
    assert_int_equal(t[0].shape[1], 3);
    assert_memory_equal(t[0].key, "0", 1);
    assert_int_equal(t[1].dtype, DTYPE_F16);
    assert_int_equal(t[1].first, 4);
    assert_int_equal(t[1].n_elements, 2);
    assert_int_equal(t[2].dtype, DTYPE_OTHER);
    assert_string_equal(t[2].dtype_name, "BoolStorage");
    assert_int_equal(t[2].rank, 0);
    assert_int_equal(t[2].n_elements, 1);
    assert_int_equal(t[3].dtype, DTYPE_BF16);
    assert_int_equal(t[3].n_elements, 0);
    mem_free(t);
}

static const struct row refused_pickles[] = {
    ROW("\x80\x02"
        "cposix\nsystem\nX\x02\0\0\0ls\x85R.",
        ERR_UNSUPPORTED, "the pickle asks for posix.system" REFUSED),
    ROW("cbuiltins\neval\n", ERR_UNSUPPORTED, "the pickle asks for builtins.eval" REFUSED),
    ROW("ctorch\nFloatStorage.x\n", ERR_UNSUPPORTED,
        "the pickle asks for torch.FloatStorage.x" REFUSED),
    ROW("cto\x1b[2Jrch\nx\n", ERR_UNSUPPORTED, "the pickle asks for to\\x1b[2Jrch.x" REFUSED),
    ROW("\x8c\x05posix\x8c\x06system\x93.", ERR_UNSUPPORTED,
        "the pickle asks for posix.system" REFUSED),
    ROW("(iposix\nsystem\n.", ERR_UNSUPPORTED,
        "the pickle has opcode INST (0x69) at byte 1" REFUSED),
    ROW("}\x81", ERR_FORMAT, "the pickle is broken at byte 2: the stack is empty"),
    ROW("})\x81", ERR_FORMAT,
        "the pickle is broken at byte 3: what it makes is not an object of the list"),
    ROW("ccollections\nOrderedDict\n)\x81", ERR_FORMAT,
        "the pickle is broken at byte 27: what it makes is not an object of the list"),
    ROW("cargparse\nNamespace\nN\x85\x81", ERR_FORMAT,
        "the pickle is broken at byte 23: what it makes is not an object of the list"),
    ROW("cargparse\nNamespace\n)R", ERR_FORMAT,
        "the pickle is broken at byte 22: what it calls is not a function of the list"),
    ROW("csubprocess\nPopen\n)\x81", ERR_UNSUPPORTED,
        "the pickle asks for subprocess.Popen" REFUSED),
    ROW("\x82\x01", ERR_UNSUPPORTED, "the pickle has opcode EXT1 (0x82) at byte 0" REFUSED),
    ROW("P0\n", ERR_UNSUPPORTED, "the pickle has opcode PERSID (0x50) at byte 0" REFUSED),
    ROW("\xff", ERR_UNSUPPORTED, "the pickle has opcode without a name (0xff) at byte 0" REFUSED),
    ROW("", ERR_FORMAT, "the pickle is broken at byte 0: it ends before its STOP"),
    ROW("}", ERR_FORMAT, "the pickle is broken at byte 1: it ends before its STOP"),
    ROW(".", ERR_FORMAT, "the pickle is broken at byte 0: the stack is empty"),
    ROW("K\x01.", ERR_FORMAT, "the pickle is broken at byte 2: what it holds is not a dict"),
    ROW("}}.", ERR_FORMAT, "the pickle is broken at byte 2: what it holds is not a dict"),
    ROW("X\xff\xff\xff\x7f"
        "a",
        ERR_FORMAT, "the pickle is broken at byte 5: it ends inside a text"),
    ROW("J\x01", ERR_FORMAT, "the pickle is broken at byte 1: it ends inside a number"),
    ROW("\x8a\x09", ERR_FORMAT,
        "the pickle is broken at byte 2: a whole number of more than 8 bytes"),
    ROW("ctorch", ERR_FORMAT, "the pickle is broken at byte 1: it ends inside a name"),
    ROW("}r\xff\xff\xff\xff", ERR_RANGE,
        "the pickle's memo has 4294967295 places, at most 1048576"),
    ROW("h\x07", ERR_FORMAT, "the pickle is broken at byte 2: the memo has nothing in that place"),
    ROW("t", ERR_FORMAT, "the pickle is broken at byte 1: there is no mark on the stack"),
    ROW("}(K\x01u", ERR_FORMAT, "the pickle is broken at byte 5: a key has no value"),
    ROW("](K\x01K\x01u", ERR_FORMAT,
        "the pickle is broken at byte 7: items are added to what cannot hold them"),
    ROW("}K\x01"
        "a",
        ERR_FORMAT, "the pickle is broken at byte 4: items are added to what cannot hold them"),
    ROW("N}b", ERR_FORMAT, "the pickle is broken at byte 3: attributes are given to what has none"),
    ROW("})R", ERR_FORMAT,
        "the pickle is broken at byte 3: what it calls is not a function of the list"),
    ROW("ctorch\nHalfStorage\n)R", ERR_FORMAT,
        "the pickle is broken at byte 21: what it calls is not a function of the list"),
    ROW("}Q", ERR_FORMAT,
        "the pickle is broken at byte 2: a persistent id is not that of a storage"),
    ROW("ccollections\nOrderedDict\nN\x85R", ERR_FORMAT,
        "the pickle is broken at byte 28: an OrderedDict has arguments"),
    ROW(TENSOR ")R", ERR_FORMAT,
        "the pickle is broken at byte 35: a tensor is not made of storage, offset, size and "
        "stride")};

static void everything_else_is_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused_pickles / sizeof *refused_pickles; i++) {
        struct pickle_tensor *t = NULL;
        int n = 0, rc = read_pickle(&t, &n, refused_pickles[i].pickle, refused_pickles[i].n);
        assert_string_equal(rc == 0 ? "read" : err_text(), refused_pickles[i].sentence);
        assert_int_equal(rc, refused_pickles[i].code);
        assert_null(t);
    }
}

/* What is wrong with a tensor, told without the position. */
static void bad_tensors_are_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW(ONE(T("FloatStorage", "\x05", "\0", SIZE_2_3)), ERR_FORMAT,
            "passes the end of its storage"),
        ROW(ONE(T("FloatStorage", "\x06", "\x01", SIZE_2_3)), ERR_FORMAT,
            "passes the end of its storage"),
        ROW(ONE(T("FloatStorage", "\x06", "\x07", "K\0\x85K\x01\x85")), ERR_FORMAT,
            "passes the end of its storage"),
        ROW(ONE(T("FloatStorage", "\x06", "\0", "K\x02K\x03\x86K\x01K\x02\x86")), ERR_UNSUPPORTED,
            "does not lie row by row (stride 2, expected 1): save it again after .contiguous()"),
        ROW(ONE(T("FloatStorage", "\x06", "\0", "K\x02K\x03\x86K\x03\x85")), ERR_FORMAT,
            "size and stride are not tuples of one length up to 8"),
        ROW(ONE(T("FloatStorage", "\x06", "\0", "J\xff\xff\xff\xff\x85K\x01\x85")), ERR_FORMAT,
            "size or stride is not a whole number"),
        ROW(ONE(T("FloatStorage", "\x06", "\0", "(tK\x01\x85")), ERR_FORMAT,
            "size and stride are not tuples of one length up to 8"),
        ROW(ONE(T("FloatStorage", "\x06", "\0",
                  "\x8a\x08\0\0\0\0\0\0\0\x40K\x04\x86K\x04K\x01\x86")),
            ERR_FORMAT, "a tensor's size passes 2^64"),
        ROW(ONE(T("FloatStorage", "\x06", "\0", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1tK\x01\x85")),
            ERR_FORMAT, "size and stride are not tuples of one length up to 8")};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pickle_tensor *t = NULL;
        int n = 0;
        assert_int_equal(read_pickle(&t, &n, rows[i].pickle, rows[i].n), rows[i].code);
        if (strstr(err_text(), rows[i].sentence) == NULL)
            fail_msg("%s: expected %s", err_text(), rows[i].sentence);
    }
}

/* Doubling tuples through the memo: 2^n in Python's eyes, n values in ours. */
static void memo_bombs_stay_small(void **state)
{
    (void)state;
    struct buf b = {0};
    struct pickle_tensor *t = NULL;
    int n;
    assert_ok(buf_add(&b, ")q\0", 3));
    for (int i = 0; i < 200000; i++)
        assert_ok(buf_add(&b, "h\0h\0\x86q\0", 7));
    assert_ok(buf_add(&b, "\x85.", 2));
    assert_int_equal(read_pickle(&t, &n, b.data, b.n), ERR_FORMAT);
    b.n = 0;
    for (int i = 0; i < 2000000; i++)
        assert_ok(buf_char(&b, '('));
    assert_int_equal(read_pickle(&t, &n, b.data, b.n), ERR_RANGE);
    assert_string_equal(err_text(), "the pickle has more than 1048576 values");
    buf_release(&b);
}

static void put(struct buf *b, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        assert_ok(buf_char(b, (char)(i < 8 ? value >> 8 * i : 0)));
}

/* A zip of stored entries; what is wrong with it is set by name. */
struct zip_flaw {
    const char *name; /* of the first entry, in place of its own */
    unsigned method, flags;
    uint64_t data_bytes; /* said of the first entry */
    uint64_t directory_offset, entries;
    bool wide; /* zip64, all in 64 bits */
};

struct part {
    const char *name, *text;
    size_t n;
};

/* An entry of so many bytes at `at`; flaw: NULL, or what it has in place of its own. */
static void put_directory_entry(struct buf *directory, const char *name, uint64_t bytes,
                                uint64_t at, const struct zip_flaw *flaw, bool wide)
{
    assert_ok(buf_add(directory, "PK\1\2", 4));
    put(directory, 0, 4);
    put(directory, flaw != NULL ? flaw->flags : 0, 2);
    put(directory, flaw != NULL ? flaw->method : 0, 2);
    put(directory, 0, 8);
    put(directory, wide ? UINT32_MAX : bytes, 4);
    put(directory, wide ? UINT32_MAX : bytes, 4);
    put(directory, strlen(name), 2);
    put(directory, wide ? 33 : 0, 2);
    put(directory, 0, 10);
    put(directory, wide ? UINT32_MAX : at, 4);
    assert_ok(buf_str(directory, name));
    if (wide) {
        put(directory, 0x5555, 2); /* a field of someone else's comes first */
        put(directory, 1, 2);
        put(directory, 0, 1);
        put(directory, 1, 2);
        put(directory, 24, 2);
        put(directory, bytes, 8);
        put(directory, bytes, 8);
        put(directory, at, 8);
    }
}

static void make_zip(struct buf *b, const struct part *parts, int n, const struct zip_flaw *flaw)
{
    struct buf directory = {0};
    for (int i = 0; i < n; i++) {
        bool bad = i == 0 && flaw != NULL;
        const char *name = bad && flaw->name != NULL ? flaw->name : parts[i].name;
        uint64_t bytes = bad && flaw->data_bytes != 0 ? flaw->data_bytes : parts[i].n, at = b->n;
        bool wide = flaw != NULL && flaw->wide;
        assert_ok(buf_add(b, "PK\3\4", 4));
        put(b, 0, 22);
        put(b, strlen(name), 2);
        put(b, 7, 2); /* padding, as torch aligns its storages */
        assert_ok(buf_str(b, name));
        put(b, 0, 7);
        assert_ok(buf_add(b, parts[i].text, parts[i].n));
        put_directory_entry(&directory, name, bytes, at, bad ? flaw : NULL, wide);
    }
    uint64_t at = flaw != NULL && flaw->directory_offset != 0 ? flaw->directory_offset : b->n;
    uint64_t entries = flaw != NULL && flaw->entries != 0 ? flaw->entries : (uint64_t)n;
    assert_ok(buf_add(b, directory.data, directory.n));
    if (flaw != NULL && flaw->wide) {
        uint64_t end = b->n;
        assert_ok(buf_add(b, "PK\6\6", 4));
        put(b, 44, 8);
        put(b, 0, 12);
        put(b, entries, 8);
        put(b, entries, 8);
        put(b, directory.n, 8);
        put(b, at, 8);
        assert_ok(buf_add(b, "PK\6\7", 4));
        put(b, 0, 4);
        put(b, end, 8);
        put(b, 1, 4);
        at = UINT32_MAX;
    }
    assert_ok(buf_add(b, "PK\5\6", 4));
    put(b, 0, 4);
    put(b, entries, 2);
    put(b, entries, 2);
    put(b, directory.n, 4);
    put(b, at, 4);
    put(b, 0, 2);
    buf_release(&directory);
}

/* torch_open_file of these bytes as a file. */
static int open_bytes(struct tensor_file *f, const struct buf *b)
{
    const char *path = scratch_file("model.bin", b->data, b->n);
    int rc = tensor_file_open_as(f, path, torch_open_file);
    unlink(path); /* the next is another file: this one may be mapped */
    return rc;
}

static const char good_pickle[] = ONE(FLOATS_2_3);
static const char floats[25] = "abcdefghijklmnopqrstuvwx";
#define DATA_PKL                                                                                   \
    {                                                                                              \
        "archive/data.pkl", good_pickle, sizeof good_pickle - 1                                    \
    }

static void reads_zips_narrow_and_wide(void **state)
{
    (void)state;
    const struct part parts[] = {DATA_PKL,
                                 {"archive/byteorder", "little", 6},
                                 {"archive/data/0", floats, 24},
                                 {"archive/version", "3\n", 2}};
    for (int wide = 0; wide < 2; wide++) {
        struct buf b = {0};
        struct zip_flaw flaw = {.wide = wide};
        struct tensor_file f;
        char bytes[24];
        make_zip(&b, parts, 4, &flaw);
        assert_ok(open_bytes(&f, &b));
        assert_int_equal(f.n, 1);
        assert_string_equal(f.entries[0].name, "w");
        assert_string_equal(f.entries[0].dtype_name, "FloatStorage");
        assert_int_equal(f.entries[0].bytes, 24);
        assert_ok(file_read_at(&f.file, bytes, f.entries[0].offset, 24));
        assert_memory_equal(bytes, floats, 24);
        tensor_file_close(&f);
        buf_release(&b);
    }
}

static const struct {
    struct part parts[3];
    struct zip_flaw flaw;
    int code;
    const char *sentence;
} hostile_zips[] = {
    {{DATA_PKL, {"archive/data/1", floats, 24}},
     {0},
     ERR_FORMAT,
     "tensor w: its storage is not in the archive"},
    {{DATA_PKL, {"archive/data/0", floats, 23}},
     {0},
     ERR_FORMAT,
     "tensor w: its storage has 23 bytes, expected 6 x 4"},
    {{DATA_PKL, {"archive/data/0", floats, 24}},
     {.name = "archive/../../x"},
     ERR_FORMAT,
     "its entry \"archive/../../x\" has a name that leaves the archive"},
    {{DATA_PKL},
     {.name = "/etc/passwd"},
     ERR_FORMAT,
     "its entry \"/etc/passwd\" has a name that leaves the archive"},
    {{DATA_PKL},
     {.name = "..\\x"},
     ERR_FORMAT,
     "its entry \"..\\x\" has a name that leaves the archive"},
    {{DATA_PKL},
     {.method = 8},
     ERR_UNSUPPORTED,
     "its entry archive/data.pkl is compressed (method 8), torch stores without"},
    {{DATA_PKL}, {.flags = 1}, ERR_UNSUPPORTED, "its entry archive/data.pkl is encrypted"},
    {{DATA_PKL}, {.data_bytes = 100000}, ERR_FORMAT, "its entry archive/data.pkl of 100000 bytes"},
    {{DATA_PKL},
     {.data_bytes = UINT64_MAX, .wide = true},
     ERR_FORMAT,
     "its entry archive/data.pkl of 18446744073709551615 bytes"},
    {{DATA_PKL}, {.entries = 60000}, ERR_FORMAT, " cannot have 60000 entries"},
    {{DATA_PKL},
     {.entries = UINT64_MAX, .wide = true},
     ERR_FORMAT,
     " cannot have 18446744073709551615 entries"},
    {{DATA_PKL}, {.entries = 2}, ERR_FORMAT, "its zip directory"},
    {{DATA_PKL}, {.directory_offset = 4}, ERR_FORMAT, "its zip directory is broken"},
    {{DATA_PKL}, {.directory_offset = 1 << 30}, ERR_FORMAT, "ends beyond byte"},
    {{DATA_PKL, DATA_PKL}, {0}, ERR_FORMAT, "it has two entries archive/data.pkl"},
    {{{"word/document.xml", "<x/>", 4}}, {0}, ERR_FORMAT, "it has no data.pkl"},
    {{DATA_PKL, {"archive/byteorder", "big", 3}},
     {0},
     ERR_UNSUPPORTED,
     "its numbers are not little-endian"},
    {{{"a/data.pkl", "}.", 2}}, {0}, ERR_FORMAT, "its data.pkl is not a dict of tensors"}};

static void hostile_zips_get_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hostile_zips / sizeof *hostile_zips; i++) {
        struct buf b = {0};
        struct tensor_file f;
        int n = 0;
        while (n < 3 && hostile_zips[i].parts[n].name != NULL)
            n++;
        make_zip(&b, hostile_zips[i].parts, n, &hostile_zips[i].flaw);
        int rc = open_bytes(&f, &b);
        if (rc == 0 || strstr(err_text(), hostile_zips[i].sentence) == NULL)
            fail_msg("%s: expected %s", rc == 0 ? "read" : err_text(), hostile_zips[i].sentence);
        assert_int_equal(rc, hostile_zips[i].code);
        buf_release(&b);
    }
}

static void other_files_get_a_sentence(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("", ERR_FORMAT, "the file is empty"),
        ROW("PK\5\6", ERR_FORMAT, "it is not a zip archive, or a truncated one"),
        ROW("version https://git-lfs.github.com/spec/v1\n", ERR_FORMAT, "git-lfs pointer")};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tensor_file f;
        struct buf b = {0};
        assert_ok(buf_add(&b, rows[i].pickle, rows[i].n));
        assert_int_equal(open_bytes(&f, &b), rows[i].code);
        if (strstr(err_text(), rows[i].sentence) == NULL)
            fail_msg("%s: expected %s", err_text(), rows[i].sentence);
        buf_release(&b);
    }
}

/* A truncated file never opens, and every failed allocation is survived. */
static void survives_truncation_and_no_memory(void **state)
{
    (void)state;
    const struct part parts[] = {DATA_PKL, {"archive/data/0", floats, 24}};
    struct buf b = {0};
    struct tensor_file f;
    make_zip(&b, parts, 2, NULL);
    size_t whole = b.n;
    for (b.n = 0; b.n < whole; b.n++)
        assert_int_equal(open_bytes(&f, &b), ERR_FORMAT);
    uint64_t k = 1;
    for (;; k++) {
        mem_fail_at(k);
        int rc = open_bytes(&f, &b);
        mem_fail_at(0);
        if (rc == 0)
            break;
        assert_int_equal(rc, ERR_NOMEM);
    }
    assert_true(k > 10);
    tensor_file_close(&f);
    buf_release(&b);
}

static void equals_safetensors_with_data(void **state)
{
    (void)state;
    const char *data = golden_data("torch's own files against the safetensors of the same weights");
    if (data == NULL)
        return;
    static const char *const names[] = {"tiny_gpt2.bin", "tiny_gpt2-00001-of-00002.bin",
                                        "tiny_gpt2-00002-of-00002.bin"};
    char path[4096];
    struct tensor_file safe, torch;
    int found[3] = {0};
    snprintf(path, sizeof path, "%s/weights/neural-api-tiny_gpt2/tiny_gpt2.safetensors", data);
    assert_ok(tensor_file_open_as(&safe, path, safetensors_open_file));
    for (int k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%s/weights/neural-api-tiny_gpt2/%s", data, names[k]);
        assert_ok(tensor_file_open_as(&torch, path, torch_open_file));
        for (int i = 0; i < safe.n; i++) {
            const struct tensor_entry *a = &safe.entries[i], *b = tensor_file_find(&torch, a->name);
            char x[4096], y[4096];
            if (b == NULL)
                continue;
            found[k]++;
            assert_int_equal(a->dtype, b->dtype);
            assert_int_equal(a->rank, b->rank);
            assert_memory_equal(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
            assert_int_equal(a->bytes, b->bytes);
            assert_true(a->bytes <= sizeof x);
            assert_ok(file_read_at(&safe.file, x, a->offset, (size_t)a->bytes));
            assert_ok(file_read_at(&torch.file, y, b->offset, (size_t)b->bytes));
            assert_memory_equal(x, y, (size_t)a->bytes);
        }
        tensor_file_close(&torch);
    }
    assert_int_equal(found[0], safe.n);
    assert_int_equal(found[1] + found[2], safe.n);
    tensor_file_close(&safe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_a_dict_of_tensors),
                                       cmocka_unit_test(everything_else_is_refused_by_name),
                                       cmocka_unit_test(bad_tensors_are_refused),
                                       cmocka_unit_test(memo_bombs_stay_small),
                                       cmocka_unit_test(reads_zips_narrow_and_wide),
                                       cmocka_unit_test(hostile_zips_get_a_sentence),
                                       cmocka_unit_test(other_files_get_a_sentence),
                                       cmocka_unit_test(survives_truncation_and_no_memory),
                                       cmocka_unit_test(equals_safetensors_with_data)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
