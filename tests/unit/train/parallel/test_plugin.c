/* Which launcher has started a process, by the environment. */
#include "tests/lib/test.h"

#include "train/parallel/plugin.h"

#include <stdlib.h>

static int set_up(void **state)
{
    (void)state;
    launch_forget();
    return 0;
}

static void nobody_has(void **state)
{
    (void)state;
    const struct launch l = launch_find();
    assert_int_equal(l.size, 1);
    assert_false(l.there);
    setenv("SLURM_NTASKS", "16", 1); /* of a batch script, which is one process */
    assert_int_equal(launch_find().size, 1);
    unsetenv("SLURM_NTASKS");
}

static void check_launcher(const char *size, const char *rank)
{
    setenv(size, "4", 1);
    setenv(rank, "3", 1);
    struct launch l = launch_find();
    assert_int_equal(l.size, 4);
    assert_int_equal(l.rank, 3);
    assert_true(l.there);
    launch_forget();
    assert_null(getenv(size));
    assert_int_equal(launch_find().size, 1);
    setenv(size, "1", 1);
    l = launch_find();
    assert_int_equal(l.size, 1);
    assert_true(l.there);
    setenv(size, "many", 1);
    assert_int_equal(launch_find().size, 1);
    launch_forget();
}

static void launchers_say_how_many(void **state)
{
    (void)state;
    check_launcher("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK");
    check_launcher("PMI_SIZE", "PMI_RANK");
    check_launcher("SLURM_STEP_NUM_TASKS", "SLURM_PROCID");
}

static void or_that_they_have(void **state)
{
    (void)state;
    setenv("PMIX_RANK", "2", 1);
    const struct launch l = launch_find();
    assert_int_equal(l.size, 0);
    assert_int_equal(l.rank, 2);
    assert_true(l.there);
}

static void those_of_torchrun_are_refused(void **state)
{
    (void)state;
    setenv("WORLD_SIZE", "4", 1);
    setenv("RANK", "2", 1);
    assert_ok(launch_refuse()); /* any program may have set these */
    setenv("TORCHELASTIC_RUN_ID", "none", 1);
    assert_int_equal(launch_refuse(), ERR_UNSUPPORTED);
    assert_non_null(strstr(err_text(), "process 3 of 4"));
    assert_non_null(strstr(err_text(), "mpirun -np 4 prattle train"));
    setenv("WORLD_SIZE", "1", 1);
    assert_ok(launch_refuse());
    unsetenv("TORCHELASTIC_RUN_ID");
    unsetenv("WORLD_SIZE");
    unsetenv("RANK");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nobody_has, set_up),
        cmocka_unit_test_setup(launchers_say_how_many, set_up),
        cmocka_unit_test_setup(or_that_they_have, set_up),
        cmocka_unit_test_setup(those_of_torchrun_are_refused, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
