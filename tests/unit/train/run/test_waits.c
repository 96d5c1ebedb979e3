/* Who waits is said of several steps, never of one. */
#include "tests/lib/test.h"

#include "train/run/waits.h"

enum { RANKS = 3 };

/* A step in which one rank was slower than the others. */
static void add_step(struct waits *w, int slow, double seconds)
{
    double s[RANKS];
    for (int i = 0; i < RANKS; i++)
        s[i] = i == slow ? seconds : 1;
    waits_add(w, s);
}

/* A line at each step, and in each another rank is the slowest, now and then by far. */
static void a_slow_step_tells_nothing(void **state)
{
    struct waits w;
    int rank;
    (void)state;
    assert_int_equal(waits_init(&w, RANKS), 0);
    for (int step = 0; step < 10 * RANKS * WAITS_STEPS; step++) {
        add_step(&w, step % RANKS, step % 10 == 0 ? 50 : 1.25);
        assert_true(waits_take_line(&w, &rank) == 0);
    }
    waits_release(&w);
}

/* However many a line has. */
static void many_in_a_row_do(void **state)
{
    (void)state;
    for (int every = 1; every <= 2 * WAITS_STEPS; every++) {
        struct waits w;
        int rank;
        assert_int_equal(waits_init(&w, RANKS), 0);
        for (int step = 1; step <= 10 * every; step++) {
            const double s[RANKS] = {2, 1.5, 2};
            waits_add(&w, s);
            if (step % every != 0)
                continue;
            const double share = waits_take_line(&w, &rank);
            assert_true(share == (step < WAITS_STEPS ? 0 : 0.25));
            assert_true(share == 0 || rank == 1);
        }
        waits_release(&w);
    }
}

/* Two wait for one, and each is the first now and then. */
static void so_do_those_of_two(void **state)
{
    struct waits w;
    int rank;
    (void)state;
    assert_int_equal(waits_init(&w, RANKS), 0);
    for (int step = 1; step <= 3 * WAITS_STEPS; step++) {
        const double s[RANKS] = {2, 1 + 0.5 * (step % 2), 1.5 - 0.5 * (step % 2)};
        waits_add(&w, s);
        const double share = waits_take_line(&w, &rank);
        assert_true(share == (step < WAITS_STEPS ? 0 : 0.5));
        assert_int_equal(rank, 1 + step % 2);
    }
    waits_release(&w);
}

/* Of a line of many, one slow step among them does too: the time was waited. */
static void of_a_long_line_the_whole_counts(void **state)
{
    struct waits w;
    int rank;
    (void)state;
    assert_int_equal(waits_init(&w, RANKS), 0);
    for (int line = 0; line < 3; line++) {
        for (int step = 0; step < WAITS_STEPS; step++)
            add_step(&w, 0, step == 3 ? 1 + WAITS_STEPS : 1);
        assert_true(waits_take_line(&w, &rank) == 0.5);
        assert_int_equal(rank, 1);
        for (int step = 0; step < WAITS_STEPS; step++)
            add_step(&w, 0, step == 3 ? 1.5 : 1);
        assert_true(waits_take_line(&w, &rank) == 0);
    }
    waits_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_step_tells_nothing),
        cmocka_unit_test(many_in_a_row_do),
        cmocka_unit_test(so_do_those_of_two),
        cmocka_unit_test(of_a_long_line_the_whole_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
