/* What a data set's documents are like, counted by hand. */
#include "tests/lib/data_set.h"
#include "train/data/token_use.h"
#include "train/data/token_writer.h"

static void documents_are_counted(void **state)
{
    (void)state;
    /* Three end with 0; the third has another 0 inside; the last has no end. */
    static const token_id ids[] = {5, 0, 5, 6, 7, 0, 9, 0, 9, 0, 300};
    static const size_t ends[] = {2, 6, 10, 11};
    static const char *const path[] = {"use"};
    struct token_writer w;
    struct token_use u;
    size_t at = 0;
    assert_ok(token_writer_open(&w, scratch_path(&data_scratch, "use"), 301));
    for (size_t i = 0; i < 4; at = ends[i++]) {
        assert_ok(token_writer_add(&w, ids + at, ends[i] - at));
        assert_ok(token_writer_end(&w));
    }
    assert_ok(token_writer_commit(&w));
    struct data_config c = data_config_of(path, 1);
    struct dataset d, v;
    assert_ok(dataset_open(&d, &v, &c, NULL, 0, NULL));
    assert_ok(token_use_read(&u, &d, 0, NULL));
    assert_int_equal(u.shortest, 1);
    assert_int_equal(u.longest, 4);
    assert_int_equal(u.median, 2);
    assert_int_equal(u.lengths[0], 1);
    assert_int_equal(u.lengths[1], 1);
    assert_int_equal(u.lengths[2], 2);
    assert_int_equal(u.used, 6);
    assert_int_equal(u.seen, 4);
    assert_int_equal(u.ended, 3);
    assert_int_equal(u.inside, 1);
    assert_ok(token_use_read(&u, &d, TOKEN_NONE, NULL));
    assert_int_equal(u.ended + u.inside, 0);
    dataset_close(&d);
    dataset_close(&v);
    data_config_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(documents_are_counted)};
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
