/* Statistics against values worked out by hand. */
#include "tests/lib/test.h"

#include "repl/bench/stats.h"

#include <math.h>

#define N_OF(a) ((int)(sizeof(a) / sizeof *(a)))

static void expect_near(double actual, double expected)
{
    if (!(fabs(actual - expected) <= 1e-12 * fmax(1, fabs(expected))))
        fail_msg("%.17g, expected %.17g", actual, expected);
}

static void a_sample_is_summed_up(void **state)
{
    (void)state;
    const double v[] = {9, 2, 4, 5, 4, 7, 4, 5};
    struct stats s;
    assert_ok(stats_of(&s, v, N_OF(v)));
    assert_int_equal(s.n, 8);
    expect_near(s.mean, 5);
    expect_near(s.deviation, sqrt(32.0 / 7));
    expect_near(s.median, 4.5);
    expect_near(s.low, 2);
    expect_near(s.high, 9);
    assert_ok(stats_of(&s, v, 3));
    expect_near(s.median, 4);
    assert_ok(stats_of(&s, v, 1));
    expect_near(s.median, 9);
    expect_near(s.deviation, 0);
}

static void expect_p(const double *a, int n_a, const double *b, int n_b, double expected)
{
    double p = -1;
    assert_ok(stats_compare(&p, a, n_a, b, n_b));
    expect_near(p, expected);
    assert_ok(stats_compare(&p, b, n_b, a, n_a));
    expect_near(p, expected);
}

static void small_sets_are_compared_exactly(void **state)
{
    (void)state;
    const double low[] = {1, 2, 3, 4, 5}, high[] = {10, 9, 8, 7, 6};
    const double odd[] = {1, 3, 5, 7}, even[] = {2, 4, 6, 8};
    const double tied[] = {1, 2, 2}, more[] = {2, 3, 4}, ones[] = {1, 1};
    expect_p(low, 5, high, 5, 2.0 / 252); /* the two most extreme deals */
    expect_p(odd, 4, even, 4, 48.0 / 70); /* U = 6: 24 deals on each side */
    /* Ranks 1 3 3 and 3 5 6: 3 deals have a sum of 7 or less, 3 one of 14 or more, of 20. */
    expect_p(tied, 3, more, 3, 6.0 / 20);
    expect_p(ones, 2, ones, 2, 1);
    expect_p(low, 1, high, 1, 1);
}

static void large_sets_by_the_normal_distribution(void **state)
{
    (void)state;
    double a[40], b[40], p;
    for (int i = 0; i < 40; i++) {
        a[i] = i;
        b[i] = 100 + i;
    }
    expect_p(a, 40, b, 40, erfc((800 - 0.5) / sqrt(2 * 10800.0)));
    for (int i = 0; i < 40; i++)
        b[i] = a[i];
    assert_ok(stats_compare(&p, a, 40, b, 40));
    expect_near(p, 1);
    for (int i = 0; i < 40; i++)
        a[i] = b[i] = 3;
    expect_p(a, 40, b, 40, 1);
}

static void too_few_cannot_tell(void **state)
{
    (void)state;
    assert_true(fabs(stats_least_p(3, 3) - 0.1) < 1e-9);
    assert_true(fabs(stats_least_p(4, 4) - 2.0 / 70) < 1e-9);
    assert_true(stats_least_p(1, 1) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_is_summed_up),
        cmocka_unit_test(small_sets_are_compared_exactly),
        cmocka_unit_test(large_sets_by_the_normal_distribution),
        cmocka_unit_test(too_few_cannot_tell),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
