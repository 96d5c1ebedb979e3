/* What bzip2 packed, by several threads and by one. */
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/rng.h"
#include "train/data/bunzip.h"

#include <archive.h>
#include <archive_entry.h>

/* ---- files ---- */

/* Append a stream of n bytes, packed by bzip2 -1 to -9. */
static void pack_stream(struct buf *out, const char *bytes, size_t n, int level)
{
    char said[2] = {(char)('0' + level), '\0'};
    const size_t room = n + n / 50 + 10000;
    size_t used = 0;
    struct archive *a = archive_write_new();
    struct archive_entry *e = archive_entry_new();
    assert_ok(buf_reserve(out, room));
    archive_write_set_format_raw(a);
    archive_write_add_filter_bzip2(a);
    assert_int_equal(archive_write_set_filter_option(a, "bzip2", "compression-level", said),
                     ARCHIVE_OK);
    archive_write_set_bytes_in_last_block(a, 1);
    assert_int_equal(archive_write_open_memory(a, out->data + out->n, room, &used), ARCHIVE_OK);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_pathname(e, "x");
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, bytes, n), n);
    archive_entry_free(e);
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    out->n += used;
}

/* Some n bytes of these, in no order. */
static void mix_bytes(struct buf *out, const char *of, size_t n)
{
    const size_t count = strlen(of);
    uint32_t w[4];
    assert_ok(buf_reserve(out, n));
    for (size_t i = 0; i < n; i++) {
        rng_words(w, 3, 0, i);
        out->data[out->n++] = of[w[0] % count];
    }
}

/*
 * A block begins with what bytes it has: sixteen bits for each sixteen of them that it has any of.
 * So these have the 48 bits of a block's mark from the space to "O", and those of the mark of a
 * stream's end from "P" on.
 */
static void mix_marks(struct buf *out, size_t n)
{
    static const uint16_t groups[] = {0x3141, 0x5926, 0x5359, 0x1772, 0x4538, 0x5090};
    char of[97] = "";
    size_t count = 0;
    for (int g = 0; g < 6; g++)
        for (int k = 0; k < 16; k++)
            if (groups[g] >> (15 - k) & 1)
                of[count++] = (char)(32 + 16 * g + k);
    mix_bytes(out, of, n);
}

/* ---- reading ---- */

struct reading {
    const struct buf *file;
    size_t at, piece;
};

static long next_bytes(void *user, const void **bytes)
{
    struct reading *r = user;
    const size_t left = r->file->n - r->at, n = left < r->piece ? left : r->piece;
    *bytes = r->file->data + r->at;
    r->at += n;
    return (long)n;
}

/* All of the file to out; NULL, or what is wrong. */
static const char *unpack(struct buf *out, const struct buf *file, size_t piece, size_t at_once)
{
    struct reading r = {file, 0, piece};
    struct bunzip b;
    size_t got = at_once;
    int rc = 0;
    out->n = 0;
    bunzip_open(&b, next_bytes, &r);
    while (rc == 0 && got == at_once) {
        assert_ok(buf_reserve(out, at_once));
        rc = bunzip_read(&b, out->data + out->n, at_once, &got);
        out->n += rc == 0 ? got : 0;
    }
    const char *why = b.why;
    assert_int_equal(rc, why == NULL ? 0 : ERR_FORMAT);
    assert_true(!b.cut || strcmp(why, "it is cut off") == 0);
    bunzip_close(&b);
    return why;
}

static void expect_text(const struct buf *file, const struct buf *text)
{
    static const int teams[] = {1, 3};
    struct buf found = {0};
    for (int i = 0; i < 2; i++) {
        assert_ok(par_open(teams[i], false));
        assert_null(unpack(&found, file, i == 0 ? 65536 : 777, i == 0 ? 1000 : 1 << 20));
        assert_int_equal(found.n, text->n);
        assert_memory_equal(found.data, text->data, text->n);
    }
    buf_release(&found);
}

static void expect_why(const struct buf *file, const char *why)
{
    struct buf found = {0};
    for (int threads = 1; threads <= 4; threads += 3) {
        assert_ok(par_open(threads, false));
        const char *said = unpack(&found, file, 65536, 1 << 16);
        assert_non_null(said);
        assert_string_equal(said, why);
    }
    buf_release(&found);
}

static size_t count_parts(const struct buf *file)
{
    struct reading r = {file, 0, 65536};
    struct bzip2_parts p = {.next = next_bytes, .user = &r};
    struct bzip2_part part;
    bool got = true;
    size_t n = 0;
    while (got) {
        assert_ok(bzip2_parts_find(&p, n, &part, &got));
        n += got;
    }
    bzip2_parts_release(&p);
    return n;
}

/* ---- tests ---- */

static const char letters[] = "etaoin shrdlu\n";

static void blocks_of_any_size(void **state)
{
    (void)state;
    struct buf text = {0}, file = {0};
    mix_bytes(&text, letters, 1000000);
    for (int level = 1; level <= 9; level++) {
        file.n = 0;
        pack_stream(&file, text.data, text.n, level);
        assert_int_equal(count_parts(&file), 1000000 / (100000 * level - 19) + 2);
        expect_text(&file, &text);
    }
    buf_release(&text);
    buf_release(&file);
}

static void streams_behind_each_other(void **state)
{
    (void)state;
    struct buf text = {0}, file = {0};
    mix_bytes(&text, letters, 600000);
    static const size_t ends[] = {10, 250000, 250000, 250001, 590000, 600000};
    for (size_t i = 0, from = 0; i < 6; from = ends[i++])
        pack_stream(&file, text.data + from, ends[i] - from, i % 2 == 0 ? 1 : 9);
    expect_text(&file, &text);
    const size_t whole = file.n;
    for (int i = 0; i < 5000; i++)
        assert_ok(buf_char(&file, '\0'));
    expect_text(&file, &text);
    assert_ok(buf_char(&file, 'x'));
    expect_why(&file, "behind its end there are bytes that bzip2 did not write");
    file.n = whole;
    assert_ok(buf_str(&file, "BZh9"));
    expect_why(&file, "it is cut off");
    buf_release(&text);
    buf_release(&file);
}

static void bits_of_a_mark_inside_a_block(void **state)
{
    (void)state;
    struct buf text = {0}, file = {0};
    mix_marks(&text, 450000);
    pack_stream(&file, text.data, text.n, 1);
    assert_int_equal(count_parts(&file), 5 * 3 + 1);
    expect_text(&file, &text);
    mix_bytes(&text, letters, 150000);
    pack_stream(&file, text.data + 450000, 150000, 9);
    expect_text(&file, &text);
    buf_release(&text);
    buf_release(&file);
}

/* Of a run bzip2 takes a fiftieth: then a block has far more than 900 kB. */
static void long_runs(void **state)
{
    (void)state;
    struct buf text = {0}, file = {0};
    mix_bytes(&text, letters, 1000);
    mix_bytes(&text, "a", 20000000);
    mix_bytes(&text, letters, 100000);
    pack_stream(&file, text.data, text.n, 9);
    expect_text(&file, &text);
    buf_release(&text);
    buf_release(&file);
}

static void cut_anywhere(void **state)
{
    (void)state;
    struct buf text = {0}, file = {0};
    mix_bytes(&text, letters, 250000);
    pack_stream(&file, text.data, text.n, 1);
    const size_t whole = file.n;
    for (size_t k = 0; k < 24; k++) {
        file.n = k < 14 ? whole - 1 - k : 10 + (whole - 30) * (k - 14) / 10;
        expect_why(&file, "it is cut off");
    }
    buf_release(&text);
    buf_release(&file);
}

static void damage_is_found(void **state)
{
    (void)state;
    struct buf text = {0}, file = {0};
    mix_bytes(&text, letters, 250000);
    pack_stream(&file, text.data, text.n, 1);
    struct reading r = {&file, 0, 65536};
    struct bzip2_parts p = {.next = next_bytes, .user = &r};
    struct bzip2_part part;
    bool got;
    for (size_t k = 0; k < 4; k++) {
        assert_ok(bzip2_parts_find(&p, k, &part, &got));
        assert_true(got && part.end == (k == 3));
        /* The part's checksum, and where it is a block, something inside. */
        for (uint64_t bit = part.at + 48; bit < part.at + part.bits; bit += part.end ? 9 : 200003) {
            if (part.end && bit >= part.at + 80)
                break;
            file.data[bit / 8] ^= (char)(0x80 >> bit % 8);
            expect_why(&file, part.end ? "its checksum is wrong" : "a block is damaged");
            file.data[bit / 8] ^= (char)(0x80 >> bit % 8);
        }
    }
    bzip2_parts_release(&p);
    expect_text(&file, &text);
    buf_release(&text);
    buf_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_any_size),
        cmocka_unit_test(streams_behind_each_other),
        cmocka_unit_test(bits_of_a_mark_inside_a_block),
        cmocka_unit_test(long_runs),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(damage_is_found),
    };
    const int rc = cmocka_run_group_tests(tests, NULL, NULL);
    par_close();
    return rc;
}
