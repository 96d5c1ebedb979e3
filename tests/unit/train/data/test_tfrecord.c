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
        cmocka_unit_test(checksums_do_not_depend_on_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
