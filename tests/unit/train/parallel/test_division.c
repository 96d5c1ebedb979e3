/* Blocks go to the ranks that are done with them first. */
#include "tests/lib/test.h"

#include "train/parallel/division.h"

static void runs_are_even_at_first(void **state)
{
    int firsts[4];
    (void)state;
    division_even(firsts, 8, 3);
    assert_int_equal(firsts[0], 0);
    assert_int_equal(firsts[3], 8);
    for (int i = 0; i < 3; i++)
        assert_in_range(firsts[i + 1] - firsts[i], 2, 3);
}

static void ranks_as_fast_keep_theirs(void **state)
{
    int firsts[] = {0, 2, 4, 6, 8};
    (void)state;
    assert_false(division_balance(firsts, 8, 4, (const double[]){1, 1.05, 0.95, 1}));
    assert_int_equal(firsts[1], 2);
    /* Nothing is known of one that took no time. */
    assert_false(division_balance(firsts, 8, 4, (const double[]){4, 0, 1, 1}));
    /* Nobody has more than one to give. */
    int single[] = {0, 1, 2};
    assert_false(division_balance(single, 2, 2, (const double[]){9, 1}));
}

static void a_slow_rank_has_fewer(void **state)
{
    int firsts[] = {0, 4, 8, 12};
    (void)state;
    assert_true(division_balance(firsts, 12, 3, (const double[]){1, 4, 1}));
    assert_int_equal(firsts[0], 0);
    assert_int_equal(firsts[1], 6);
    assert_int_equal(firsts[2], 7);
    assert_int_equal(firsts[3], 12);
    /* It is as fast as the others again. */
    assert_true(division_balance(firsts, 12, 3, (const double[]){6, 1, 5}));
    assert_int_equal(firsts[1], 4);
    assert_int_equal(firsts[2], 8);
}

static void each_has_one_at_least(void **state)
{
    int firsts[] = {0, 4, 8};
    (void)state;
    assert_true(division_balance(firsts, 8, 2, (const double[]){1000, 1}));
    assert_int_equal(firsts[1], 1);
    assert_int_equal(firsts[2], 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_even_at_first),
        cmocka_unit_test(ranks_as_fast_keep_theirs),
        cmocka_unit_test(a_slow_rank_has_fewer),
        cmocka_unit_test(each_has_one_at_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
