/* torch.save's stream from before 1.6: made by hand, and what torch itself wrote. */
#include "model/base/half.h"
#include "tests/lib/test.h"

#include "tests/lib/hf_folder.h"
#include "weights/torch/pickle_stream.h"
#include "weights/open.h"
#include "weights/hf/tensor_open.h"

#define MAGIC "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
#define VERSION "\x80\x02M\xe9\x03."
#define MACHINE "\x80\x02}(X\x0d\0\0\0little_endian\x88u."
#define FRONT MAGIC VERSION MACHINE

/* Of the storage with a key of one sign: KIND, number of elements (a byte), view, size. */
#define STORAGE(kind, key, n, view)                                                                \
    "(X\x07\0\0\0storagectorch\n" kind "\nX\x01\0\0\0" key "X\x03\0\0\0"                           \
    "cpuK" n view "tQ"
#define TENSOR(storage, first, n)                                                                  \
    "ctorch._utils\n_rebuild_tensor_v2\n(" storage "K" first "K" n "\x85K\x01\x85\x89"             \
    "ccollections\nOrderedDict\n)RtR"
#define NAME(c) "X\x01\0\0\0" c
#define DICT(items) "\x80\x02}(" items "u."
#define KEYS(items) "\x80\x02](" items "e."
#define W TENSOR(STORAGE("FloatStorage", "7", "\x02", "N"), "\0", "\x02")
#define H TENSOR(STORAGE("HalfStorage", "3", "\x03", "N"), "\x01", "\x02")
#define COUNT(n) n "\0\0\0\0\0\0\0"
#define GOOD                                                                                       \
    FRONT DICT(NAME("w") W NAME("h") H NAME("e") "K\x03") KEYS(NAME("7") NAME("3"))                \
        COUNT("\x02") "abcdefgh" COUNT("\x03") "ABCDEF"

static int open_bytes(struct tensor_file *f, const void *bytes, size_t n)
{
    struct scratch s;
    scratch_open(&s);
    scratch_write(&s, "model.bin", bytes, n);
    int rc = tensor_file_open_as(f, scratch_path(&s, "model.bin"), tensor_file_open_file);
    scratch_close(&s);
    return rc;
}

static void check_entry(const struct tensor_file *f, const char *name, const char *dtype,
                        const void *bytes, size_t n)
{
    char read[64];
    const struct tensor_entry *e = tensor_file_find(f, name);
    assert_non_null(e);
    assert_string_equal(e->dtype_name, dtype);
    assert_int_equal(e->bytes, n);
    assert_ok(file_read_at(&f->file, read, e->offset, n));
    assert_memory_equal(read, bytes, n);
}

static void reads_a_stream(void **state)
{
    (void)state;
    static const char stream[] = GOOD;
    struct tensor_file f;
    assert_true(pickle_is_stream(stream, sizeof stream - 1));
    assert_ok(open_bytes(&f, stream, sizeof stream - 1));
    assert_int_equal(f.n, 2);
    check_entry(&f, "w", "FloatStorage", "abcdefgh", 8);
    check_entry(&f, "h", "HalfStorage", "CDEF", 4);
    tensor_file_close(&f);
}

/* A storage that is part of another, as torch before 0.4 shared them. */
static void reads_views(void **state)
{
    (void)state;
    static const char stream[] =
        FRONT DICT(NAME("v") TENSOR(STORAGE("HalfStorage", "3", "\x04", NAME("v") "K\x01K\x03\x87"),
                                    "\x01", "\x02") NAME("h")
                       TENSOR(STORAGE("HalfStorage", "3", "\x04", "N"), "\0", "\x04"))
            KEYS(NAME("3")) COUNT("\x04") "ABCDEFGH";
    struct tensor_file f;
    assert_ok(open_bytes(&f, stream, sizeof stream - 1));
    check_entry(&f, "v", "HalfStorage", "EFGH", 4);
    check_entry(&f, "h", "HalfStorage", "ABCDEFGH", 8);
    tensor_file_close(&f);
}

static void reads_what_torch_wrote(void **state)
{
    (void)state;
    static const float w[] = {0, 1, 2, 3, 4, 5};
    static const uint16_t half[] = {0x3c00, 0xc000, 0x3800}, bfloat[] = {0x4040, 0x4080};
    static const char mask[] = {1, 0};
    struct tensor_file f;
    assert_ok(
        tensor_file_open_as(&f, "tests/fuzz/corpus/pickle/legacy.bin", tensor_file_open_file));
    assert_int_equal(f.n, 6);
    check_entry(&f, "wte.weight", "FloatStorage", w, sizeof w);
    check_entry(&f, "lm_head.weight", "FloatStorage", w, sizeof w);
    check_entry(&f, "row", "FloatStorage", w + 3, sizeof w / 2);
    check_entry(&f, "half", "HalfStorage", half, sizeof half);
    check_entry(&f, "bfloat", "BFloat16Storage", bfloat, sizeof bfloat);
    check_entry(&f, "mask", "BoolStorage", mask, sizeof mask);
    tensor_file_close(&f);
}

/* By its first bytes, whatever the file is called. */
static void is_known_by_its_magic(void **state)
{
    (void)state;
    static const char stream[] = GOOD;
    struct scratch s;
    struct tensor_file f;
    scratch_open(&s);
    scratch_write(&s, "model.ckpt", stream, sizeof stream - 1);
    assert_ok(tensor_file_open_as(&f, scratch_path(&s, "model.ckpt"), tensor_file_open_file));
    assert_int_equal(f.n, 2);
    tensor_file_close(&f);
    scratch_close(&s);
}

struct row {
    const char *stream;
    size_t n;
    int code;
    const char *sentence;
};
#define ROW(stream, code, sentence)                                                                \
    {                                                                                              \
        stream, sizeof(stream) - 1, code, sentence                                                 \
    }
#define ONE(tensor) FRONT DICT(NAME("w") tensor)
#define STORED COUNT("\x02") "abcdefgh"

static void hostile_streams_get_a_sentence(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW(MAGIC "\x80\x02M\xea\x03.", ERR_UNSUPPORTED,
            "it is in version 1002 of torch's format, expected 1001"),
        ROW(MAGIC "N.", ERR_FORMAT, "the protocol's version is not a whole number"),
        ROW(MAGIC "NN.", ERR_FORMAT, "it leaves more or less than one value"),
        ROW(MAGIC ".", ERR_FORMAT, "it leaves more or less than one value"),
        ROW(MAGIC "cposix\nsystem\n.", ERR_UNSUPPORTED, "the pickle asks for posix.system"),
        ROW(MAGIC VERSION "N.", ERR_FORMAT, "what it says of the machine is not a dict"),
        ROW(MAGIC VERSION "}(X\x0d\0\0\0little_endian\x89u.", ERR_UNSUPPORTED,
            "its numbers are not little-endian"),
        ROW(FRONT "].", ERR_FORMAT, "what it holds is not a dict"),
        ROW(FRONT "}.].", ERR_FORMAT, "its pickle is not a dict of tensors"),
        ROW(ONE(W) "}.", ERR_FORMAT, "the storages' keys are not a list"),
        ROW(ONE(W) KEYS("K\x07") STORED, ERR_FORMAT, "the key of a storage is not text"),
        ROW(ONE(W) KEYS(NAME("8")) STORED, ERR_FORMAT, "storage 8 is listed but no tensor has it"),
        ROW(ONE(W) KEYS(NAME("7") NAME("7")) STORED, ERR_FORMAT, "storage 7 is listed twice"),
        ROW(ONE(W) KEYS("") STORED, ERR_FORMAT, "storage 7 is not in the file"),
        ROW(ONE(W) KEYS(NAME("7")) COUNT("\x03") "abcdefghijkl", ERR_FORMAT,
            "storage 7 has 3 elements, expected 2"),
        ROW(ONE(W) KEYS(NAME("7")) "\x02\0\0\0\0\0\0\x80"
                                   "abcdefgh",
            ERR_FORMAT, "storage 7 has 9223372036854775810 elements, expected 2"),
        ROW(ONE(W) KEYS(NAME("7")) COUNT("\x02") "abcdefg", ERR_FORMAT,
            "storage 7 of 2 x 4 bytes at "),
        ROW(ONE(W) KEYS(NAME("7")) "\x02", ERR_FORMAT, ", before storage 7"),
        ROW(ONE(TENSOR(STORAGE("FloatStorage", "7", "\x02", NAME("v") "K\x01K\x02\x87"), "\0",
                       "\x02")),
            ERR_FORMAT, "a view does not lie within its storage"),
        ROW(ONE(TENSOR(STORAGE("FloatStorage", "7", "\x04", NAME("v") "K\x01K\x02\x87"), "\x01",
                       "\x02")),
            ERR_FORMAT, "a tensor passes the end of its storage"),
        ROW(FRONT DICT(NAME("w") W NAME("v")
                           TENSOR(STORAGE("HalfStorage", "7", "\x02", "N"), "\0", "\x02")),
            ERR_FORMAT, "storage 7 has two types or sizes"),
        ROW(FRONT DICT(NAME("w") W NAME("w") W) KEYS(NAME("7")) STORED, ERR_FORMAT,
            "it has two tensors w")};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tensor_file f;
        int rc = open_bytes(&f, rows[i].stream, rows[i].n);
        if (rc == 0 || strstr(err_text(), rows[i].sentence) == NULL)
            fail_msg("%s: expected %s", rc == 0 ? "read" : err_text(), rows[i].sentence);
        assert_int_equal(rc, rows[i].code);
    }
}

static void a_tar_gets_a_sentence(void **state)
{
    (void)state;
    char tar[1024] = "sys_info";
    struct tensor_file f;
    memcpy(tar + 257, "ustar  ", 8);
    assert_int_equal(open_bytes(&f, tar, sizeof tar), ERR_UNSUPPORTED);
    assert_non_null(strstr(err_text(), "it is a tar, torch's format from before 0.1.10, which is "
                                       "not read; this converts it: python3 -c"));
}

/* A truncated file never opens, and every failed allocation is survived. */
static void survives_truncation_and_no_memory(void **state)
{
    (void)state;
    static const char stream[] = GOOD;
    struct tensor_file f;
    for (size_t n = 0; n < sizeof stream - 1; n++)
        assert_int_equal(open_bytes(&f, stream, n), ERR_FORMAT);
    uint64_t k = 1;
    for (;; k++) {
        mem_fail_at(k);
        int rc = open_bytes(&f, stream, sizeof stream - 1);
        mem_fail_at(0);
        if (rc == 0)
            break;
        assert_int_equal(rc, ERR_NOMEM);
    }
    assert_true(k > 10);
    tensor_file_close(&f);
}

static void put_text(struct buf *b, const char *text)
{
    uint32_t n = (uint32_t)strlen(text);
    assert_ok(buf_char(b, 'X'));
    assert_ok(buf_add(b, &n, sizeof n));
    assert_ok(buf_str(b, text));
}

static void put_int(struct buf *b, uint64_t value)
{
    uint32_t n = (uint32_t)value;
    assert_ok(buf_char(b, 'J'));
    assert_ok(buf_add(b, &n, sizeof n));
}

/* The tensors from first on, count of them, each in a storage of its own. */
static void write_stream(const struct scratch *s, const char *file, const struct hf_tensors *l,
                         int first, int count)
{
    struct buf out = {0}, keys = {0}, data = {0};
    assert_ok(buf_add(&out, FRONT "\x80\x02}(", sizeof FRONT "\x80\x02}(" - 1));
    for (int i = first; i < first + count; i++) {
        const struct hf_tensor *t = &l->all[i];
        uint64_t n = hf_elements(t);
        put_text(&out, t->name);
        assert_ok(buf_str(&out, "ctorch._utils\n_rebuild_tensor_v2\n(("));
        put_text(&out, "storage");
        assert_ok(buf_printf(&out, "ctorch\n%s\n",
                             strcmp(t->dtype, "F32") == 0 ? "FloatStorage" : "HalfStorage"));
        put_text(&out, t->name); /* its key too */
        put_text(&out, "cpu");
        put_int(&out, n);
        assert_ok(buf_str(&out, "NtQ"));
        put_int(&out, 0);
        assert_ok(buf_char(&out, '('));
        for (int k = 0; k < t->rank; k++)
            put_int(&out, t->shape[k]);
        assert_ok(buf_str(&out, "t("));
        for (int k = 0; k < t->rank; k++)
            put_int(&out, k + 1 < t->rank ? t->shape[1] : 1);
        assert_ok(buf_str(&out, "t\x89"
                                "ccollections\nOrderedDict\n)RtR"));
        put_text(&keys, t->name);
        assert_ok(buf_add(&data, &n, sizeof n));
        hf_data(&data, t);
    }
    assert_ok(buf_add(&out, "u.\x80\x02](", 6));
    assert_ok(buf_add(&out, keys.data, keys.n));
    assert_ok(buf_str(&out, "e."));
    assert_ok(buf_add(&out, data.data, data.n));
    scratch_write(s, file, out.data, out.n);
    buf_release(&out);
    buf_release(&keys);
    buf_release(&data);
}

/* The source of the folder has the values of hf_value, in its own precision. */
static void check_source(const struct scratch *s)
{
    struct source src;
    assert_ok(source_open(&src, s->folder, 1, true, NULL));
    assert_int_equal(src.dtype, DTYPE_F16);
    for (int i = 0; i < src.table.n_tensors; i++) {
        const struct tensor_reader *r = &src.readers[i];
        const struct param_tensor *t = &src.table.tensors[i];
        const int n = t->kind == PARAM_VECTOR ? t->cols : t->rows * t->cols;
        for (int k = 0; k < n; k++) {
            uint16_t value;
            assert_int_equal(r->dtype, DTYPE_F16);
            assert_ok(r->read(r->user, &value, (uint64_t)k, 1));
            assert_true(half_to_f32(value) == hf_value(t->name, (uint64_t)k));
        }
    }
    source_close(&src);
}

static void a_model_whole_and_in_shards(void **state)
{
    (void)state;
    struct scratch s;
    struct hf_tensors l;
    scratch_open(&s);
    hf_list(&l, "F16");
    hf_write_text(&s, "config.json", HF_CONFIG);
    write_stream(&s, "pytorch_model.bin", &l, 0, l.n);
    check_source(&s);
    assert_int_equal(unlink(scratch_path(&s, "pytorch_model.bin")), 0);
    write_stream(&s, "pytorch_model-00001-of-00002.bin", &l, 0, 7);
    write_stream(&s, "pytorch_model-00002-of-00002.bin", &l, 7, l.n - 7);
    struct buf index = {0};
    assert_ok(buf_str(&index, "{\"weight_map\": {"));
    for (int i = 0; i < l.n; i++)
        assert_ok(buf_printf(&index, "%s\"%s\": \"pytorch_model-0000%d-of-00002.bin\"",
                             i == 0 ? "" : ", ", l.all[i].name, i < 7 ? 1 : 2));
    assert_ok(buf_str(&index, "}}"));
    hf_write_text(&s, "pytorch_model.bin.index.json", buf_text(&index));
    check_source(&s);
    buf_release(&index);
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_a_stream),
                                       cmocka_unit_test(reads_views),
                                       cmocka_unit_test(reads_what_torch_wrote),
                                       cmocka_unit_test(is_known_by_its_magic),
                                       cmocka_unit_test(hostile_streams_get_a_sentence),
                                       cmocka_unit_test(a_tar_gets_a_sentence),
                                       cmocka_unit_test(survives_truncation_and_no_memory),
                                       cmocka_unit_test(a_model_whole_and_in_shards)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
