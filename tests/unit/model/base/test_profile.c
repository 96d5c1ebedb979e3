/* The parts that threads name take the time of their work, and who is done waits. */
#include "tests/lib/still_clock.h"
#include "tests/lib/test.h"

#include "model/base/clock.h"
#include "model/base/par.h"
#include "model/base/profile.h"

static void work_in_parts(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    const double *work_s = arg;
    assert_int_equal(profile_set(PART_ACTIVATION), PART_REST);
    for (double end = clock_s() + work_s[thread]; clock_s() < end;)
        ;
    assert_int_equal(profile_set(PART_LOSS), PART_ACTIVATION);
    par_barrier();
    assert_int_equal(profile_set(PART_REST), PART_LOSS);
}

static void a_job_in_parts(void **state)
{
    (void)state;
    double work_s[] = {0.01, 0.03}, seconds[N_PARTS], all = 0;
    still_clock_run(1e-6);
    assert_ok(par_open(2, true));
    assert_ok(profile_start(par_threads()));
    double begun = clock_s();
    par_run(work_in_parts, work_s);
    double wall_s = clock_s() - begun;
    profile_stop(seconds);
    for (int i = 0; i < N_PARTS; i++)
        all += seconds[i];
    assert_true(all <= 2 * wall_s);
    /* Threads may come late, but each does its work, and the one that is done waits. */
    assert_true(seconds[PART_ACTIVATION] >= 0.04);
    assert_true(seconds[PART_WAITS] > 0);
    assert_true(seconds[PART_ATTENTION] == 0);
    assert_int_equal(profile_set(PART_ACTIVATION), PART_REST);
    assert_int_equal(profile_set(PART_ACTIVATION), PART_REST);
    par_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
