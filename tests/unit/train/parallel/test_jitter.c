/* How long processes of the same work take that are not equally fast at every moment. */
#include "tests/lib/test.h"

#include "train/parallel/jitter.h"

#include <math.h>

static const double SHORT_S = 1e-6; /* of what is over before a speed changes */

static double seconds_at(double jitter, int process, int moment, double seconds)
{
    struct jitter_moments m = {.block = 0};
    return jitter_at(jitter, jitter_moment(&m, process, moment), seconds);
}

static void none_changes_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        assert_true(seconds_at(0, i % 3, i, 0.25) == 0.25);
    assert_true(jitter_last(0, 1000, 0.25) == 0.25);
    assert_true(jitter_last(0.5, 1, 0.25) == 0.25);
}

static void two_moments_have_their_mean(void **state)
{
    (void)state;
    for (int process = 0; process < 8; process++)
        for (int moment = 0; moment < 64; moment += 2) {
            const double a = seconds_at(0.1, process, moment, SHORT_S),
                         b = seconds_at(0.1, process, moment + 1, SHORT_S);
            assert_true(a != b);
            assert_true(fabs((a + b) / 2 / SHORT_S - 1) < 1e-6);
        }
}

static void moments_are_the_same_in_any_order(void **state)
{
    enum { N = 2000 };
    struct jitter_moments m = {.block = 0};
    float of[N];
    (void)state;
    for (int i = 0; i < N; i++)
        of[i] = jitter_moment(&m, 3, i);
    for (int i = N - 1; i >= 0; i -= 7) {
        struct jitter_moments one = {.block = 0};
        assert_true(jitter_moment(&m, 3, i) == of[i]);
        assert_true(jitter_moment(&one, 3, i) == of[i]);
        assert_true(i < 2 || of[i] != of[i - 2]);
    }
}

/* By how much the last of n is behind their mean, on average. */
static double behind(double jitter, int n, double seconds)
{
    const int moments = 40000 / n; /* the last of many differs less from one to another */
    double all = 0;
    for (int moment = 0; moment < moments; moment++) {
        double last = 0;
        for (int process = 0; process < n; process++)
            last = fmax(last, seconds_at(jitter, process, moment, seconds));
        all += last / seconds - 1;
    }
    return all / moments;
}

static void the_later_of_two_is_behind_by_it(void **state)
{
    (void)state;
    for (double jitter = 0.02; jitter < 0.25; jitter *= 2)
        assert_true(fabs(behind(jitter, 2, SHORT_S) / jitter - 1) < 0.03);
}

static void the_last_of_many_is_as_reckoned(void **state)
{
    (void)state;
    for (int n = 2; n <= 64; n *= 2) {
        const double found = behind(0.05, n, SHORT_S),
                     reckoned = jitter_last(0.05, n, SHORT_S) / SHORT_S - 1;
        assert_true(fabs(reckoned / found - 1) < 0.06);
    }
}

static void longer_work_differs_less(void **state)
{
    (void)state;
    const double brief = behind(0.1, 2, 1e-3), longer = behind(0.1, 2, 1),
                 longest = behind(0.1, 2, 100);
    assert_true(longer < 0.4 * brief && longer > 0.2 * brief);
    assert_true(fabs(longest / longer * 10 - 1) < 0.1);
}

static void no_work_is_done_in_no_time(void **state)
{
    (void)state;
    for (int moment = 0; moment < 1000; moment++) {
        const double s = seconds_at(1, 0, moment, SHORT_S);
        assert_true(s > 0.2 * SHORT_S && s < 1.8 * SHORT_S);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_changes_nothing),
        cmocka_unit_test(two_moments_have_their_mean),
        cmocka_unit_test(moments_are_the_same_in_any_order),
        cmocka_unit_test(the_later_of_two_is_behind_by_it),
        cmocka_unit_test(the_last_of_many_is_as_reckoned),
        cmocka_unit_test(longer_work_differs_less),
        cmocka_unit_test(no_work_is_done_in_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
