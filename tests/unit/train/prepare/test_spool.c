/* What is looked at through a view is what the spool has, and many small looks are few reads. */
#include "tests/lib/data_set.h"

#include "model/base/rng.h"
#include "train/prepare/spool.h"

#include <string.h>

enum { BYTES = 3 * SPOOL_VIEW_BYTES + 1234 };

static struct spool spool;

static char byte_at(uint64_t i)
{
    return (char)(i * 31 + i / 251);
}

static void fill_spool(void)
{
    char *path = data_path("spool");
    assert_ok(spool_open(&spool, path, 0));
    for (uint64_t i = 0; i < BYTES; i++) {
        const char c = byte_at(i);
        assert_ok(spool_write(&spool, &c, 1));
    }
    assert_ok(spool_flush(&spool));
    mem_free(path);
}

/* Look, and compare. true: it was read from the file. */
static bool look(struct spool_view *v, uint64_t offset, size_t n)
{
    const uint64_t from = v->from;
    const size_t had = v->n;
    const char *bytes;
    assert_ok(spool_look(v, &bytes, &spool, offset, n));
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != byte_at(offset + i))
            fail_msg("byte %zu of %zu at %llu is wrong", i, n, (unsigned long long)offset);
    return v->from != from || v->n != had;
}

static void any_stretch_is_what_the_file_has(void **state)
{
    (void)state;
    struct spool_view v = {0};
    for (uint64_t i = 0; i < 2000; i++) {
        uint32_t w[4];
        rng_words(w, 1, 2, i);
        const size_t n = w[0] % (i % 10 == 0 ? SPOOL_VIEW_BYTES : 5000);
        const uint64_t near = v.next + w[1] % 3000;
        const uint64_t offset = i % 2 == 0 && near + n < BYTES ? near : w[2] % (BYTES - n);
        look(&v, offset, n);
    }
    look(&v, BYTES - SPOOL_VIEW_BYTES, SPOOL_VIEW_BYTES);
    look(&v, BYTES, 0);
    const char *bytes;
    assert_fails(spool_look(&v, &bytes, &spool, BYTES - 1, 2), ERR_FORMAT, "is truncated");
    look(&v, BYTES - 1, 1);
    spool_view_release(&v);
}

static void one_behind_the_other_is_read_ahead(void **state)
{
    (void)state;
    struct spool_view v = {0};
    int reads = 0;
    for (uint64_t at = 0; at + 16 <= BYTES; at += 8) /* as the ends of documents overlap */
        reads += look(&v, at, 16);
    assert_true(reads <= 5);
    reads = 0;
    for (uint64_t at = 0; at + 10 <= BYTES; at += 100) /* with holes */
        reads += look(&v, at, 10);
    assert_true(reads <= 5);
    /* And no more than what was asked for where the next is elsewhere. */
    look(&v, BYTES / 2, 10);
    assert_int_equal(v.n, 10);
    spool_view_release(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_stretch_is_what_the_file_has),
        cmocka_unit_test(one_behind_the_other_is_read_ahead),
    };
    assert_int_equal(data_setup(NULL), 0);
    fill_spool();
    const int rc = cmocka_run_group_tests(tests, NULL, NULL);
    spool_close(&spool);
    return data_teardown(NULL) != 0 ? 1 : rc;
}
