/* Which launcher has started a process, by the environment. */
#include "tests/lib/test.h"

#include "train/parallel/plugin.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* A port of this host, with somebody who listens there or not. */
static void say_server(int fd)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    char uri[64];
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    snprintf(uri, sizeof uri, "19.0;tcp4://127.0.0.1:%d", ntohs(at.sin_port));
    setenv("PMIX_SERVER_URI4", uri, 1);
}

static void one_that_has_ended_is_named(void **state)
{
    (void)state;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_ok(launch_check());
    assert_ok(launch_check_nested());
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_RANK", "2", 1);
    assert_int_equal(launch_check(), ERR_MISSING); /* Open MPI says more */
    setenv("PMIX_RANK", "2", 1);
    assert_ok(launch_check());
    say_server(fd);
    assert_ok(launch_check());
    assert_int_equal(launch_check_nested(), ERR_UNSUPPORTED);
    close(fd);
    assert_int_equal(launch_check(), ERR_MISSING);
    assert_non_null(strstr(err_text(), "process 3 of 4"));
    assert_non_null(strstr(err_text(), "`unset ${!OMPI_*} ${!PMIX_*}`"));
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1); /* no MPI is needed */
    assert_ok(launch_check());
    unsetenv("PMIX_SERVER_URI4");
    launch_forget();
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
        cmocka_unit_test_setup(one_that_has_ended_is_named, set_up),
        cmocka_unit_test_setup(those_of_torchrun_are_refused, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
