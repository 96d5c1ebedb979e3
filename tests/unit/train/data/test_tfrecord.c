/* TFRecord files: as TensorFlow writes them, and damage, which is named by file and place. */
#include "tests/lib/test.h"

#include "model/base/crc32c.h"
#include "tests/lib/scratch.h"
#include "train/data/tfrecord.h"

/* Example {input_ids: [1, 2, 50256]}, as protobuf and masked checksums have it. */
static const unsigned char golden[] = {
    0x1a, 0,    0,    0,    0,    0,    0,    0,    0x12, 0x9b, 0xd8, 0x2d, 0x0a, 0x18,
    0x0a, 0x16, 0x0a, 0x09, 'i',  'n',  'p',  'u',  't',  '_',  'i',  'd',  's',  0x12,
    0x09, 0x1a, 0x07, 0x0a, 0x05, 0x01, 0x02, 0xd0, 0x88, 0x03, 0x15, 0x47, 0x15, 0xed};
static const token_id ids[] = {1, 2, 50256};

static int read_all(const struct scratch *s, struct ids *out, uint64_t *records)
{
    struct file f;
    struct buf scratch = {0};
    uint64_t at = 0;
    assert_ok(file_open(&f, scratch_path(s, "x.tfrecord")));
    int rc = 0;
    for (*records = 0; at < f.bytes && rc == 0; *records += rc == 0)
        rc = tfrecord_read(out, &scratch, &f, &at);
    file_close(&f);
    buf_release(&scratch);
    return rc;
}

static void records_are_as_tensorflow_writes_them(void **state)
{
    (void)state;
    struct scratch s;
    struct file_writer w, index;
    struct buf bytes = {0};
    struct ids found = {0};
    uint64_t records;
    scratch_open(&s);
    assert_ok(file_create(&w, scratch_path(&s, "x.tfrecord"), true));
    assert_ok(file_create(&index, scratch_path(&s, "x.tfrecord.index"), true));
    for (int i = 0; i < 2; i++)
        assert_ok(tfrecord_write(&w, &index, ids, 3));
    assert_ok(file_commit(&w));
    assert_ok(file_commit(&index));
    assert_ok(file_read_all(&bytes, scratch_path(&s, "x.tfrecord"), 1000));
    assert_int_equal(bytes.n, 2 * sizeof golden);
    assert_memory_equal(bytes.data, golden, sizeof golden);
    assert_ok(read_all(&s, &found, &records));
    assert_int_equal(records, 2);
    assert_memory_equal(found.data, ids, sizeof ids);
    bytes.n = 0;
    assert_ok(file_read_all(&bytes, scratch_path(&s, "x.tfrecord.index"), 1000));
    assert_string_equal(buf_text(&bytes), "0 42\n42 42\n");
    buf_release(&bytes);
    ids_release(&found);
    scratch_close(&s);
}

/* Any byte changed, and any cut, of the second record. */
static void damage_is_named(void **state)
{
    (void)state;
    struct scratch s;
    struct ids found = {0};
    unsigned char bytes[2 * sizeof golden];
    uint64_t records;
    scratch_open(&s);
    for (size_t i = 0; i < 2 * sizeof golden; i++)
        bytes[i] = golden[i % sizeof golden];
    for (size_t i = sizeof golden; i < sizeof bytes; i++) {
        bytes[i] ^= 0x10;
        scratch_write(&s, "x.tfrecord", bytes, sizeof bytes);
        assert_int_equal(read_all(&s, &found, &records), ERR_FORMAT);
        assert_int_equal(records, 1);
        assert_string_equal(
            scratch_sentence(&s, err_text()),
            i < sizeof golden + 12
                ? "DIR/x.tfrecord: the record at byte 42 has a length whose checksum is wrong"
                : "DIR/x.tfrecord: the record at byte 42 has data whose checksum is wrong");
        bytes[i] ^= 0x10;
        if (i == sizeof golden)
            continue;
        scratch_write(&s, "x.tfrecord", bytes, i);
        assert_fails(read_all(&s, &found, &records), ERR_FORMAT, "the record at byte 42 is ");
    }
    ids_release(&found);
    scratch_close(&s);
}

static int add_field(struct buf *out, int field, const struct buf *inner)
{
    int rc = buf_char(out, (char)(field << 3 | 2));
    assert_true(inner->n < 128);
    if (rc == 0)
        rc = buf_char(out, (char)inner->n);
    return rc == 0 ? buf_add(out, buf_text((struct buf *)inner), inner->n) : rc;
}

/* An entry of this name and kind (1 bytes, 2 float, 3 int64) with these bytes. */
static void add_feature(struct buf *features, const char *name, int kind, const char *bytes)
{
    struct buf key = {0}, values = {0}, list = {0}, feature = {0}, entry = {0};
    assert_ok(buf_str(&key, name));
    assert_ok(buf_str(&values, bytes));
    assert_ok(add_field(&list, 1, &values));
    if (kind > 0)
        assert_ok(add_field(&feature, kind, &list));
    assert_ok(add_field(&entry, 1, &key));
    assert_ok(add_field(&entry, 2, &feature));
    assert_ok(add_field(features, 1, &entry));
    buf_release(&key);
    buf_release(&values);
    buf_release(&list);
    buf_release(&feature);
    buf_release(&entry);
}

static int parse_features(struct ids *out, struct buf *features)
{
    struct buf example = {0};
    assert_ok(add_field(&example, 1, features));
    out->n = 0;
    int rc = tfrecord_parse(out, (const unsigned char *)example.data, example.n);
    buf_release(&example);
    features->n = 0;
    return rc;
}

/* As others name their ids; what has none says what it has. */
static void features_have_names(void **state)
{
    (void)state;
    struct buf features = {0};
    struct ids found = {0};
    add_feature(&features, "hash", 1, "abc");
    add_feature(&features, "text", 3, "\x05\x06");
    assert_ok(parse_features(&found, &features));
    assert_int_equal(found.n, 2);
    assert_int_equal(found.data[1], 6);
    add_feature(&features, "tokens", 3, "\x05\x06");
    add_feature(&features, "input_ids", 3, "\x07");
    add_feature(&features, "text", 3, "\x05\x06");
    assert_ok(parse_features(&found, &features));
    assert_int_equal(found.n, 1);
    assert_int_equal(found.data[0], 7);
    add_feature(&features, "text", 1, "words");
    add_feature(&features, "label", 3, "\x01");
    add_feature(&features, "weight", 2, "....");
    add_feature(&features, "none\033", 0, "");
    assert_int_equal(parse_features(&found, &features), ERR_FORMAT);
    assert_string_equal(err_text(),
                        "it has no ids: expected int64 in input_ids, text or tokens; its features "
                        "are text (bytes), label (int64), weight (float), none\\x1b (empty)");
    assert_fails(parse_features(&found, &features), ERR_FORMAT, "it has no features");
    buf_release(&features);
    ids_release(&found);
}

static void checksums_do_not_depend_on_length(void **state)
{
    (void)state;
    unsigned char bytes[5000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * i >> 3);
    /* Of the long way: the same as bit by bit. */
    uint32_t crc = ~0u;
    for (size_t i = 0; i < sizeof bytes; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0x82f63b78u & -(crc & 1));
    }
    assert_int_equal(crc32c(bytes, sizeof bytes), ~crc);
    assert_int_equal(crc32c("123456789", 9), 0xe3069283);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_as_tensorflow_writes_them),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(features_have_names),
        cmocka_unit_test(checksums_do_not_depend_on_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
