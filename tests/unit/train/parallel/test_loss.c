/* How a process ends that has lost another. */
#include "tests/lib/test.h"

#include "train/parallel/loss.h"

#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENDS_MS = 12000 /* well behind what rank 0 is waited for at its end */, STAYED = 3 };

static int links[2][2]; /* to each rank */
static struct loss_world own = {.size = 2};

static const char *name_host(int rank)
{
    (void)rank;
    return "here";
}

static void move(void *data, size_t n, int from)
{
    const bool gives = own.rank == from;
    const ssize_t got =
        gives ? write(links[1 - from][1], data, n) : read(links[own.rank][0], data, n);
    if (got != (ssize_t)n)
        _exit(2);
}

static void collect(void *all, const void *data, size_t n)
{
    char theirs[64];
    memcpy(theirs, data, n);
    move(theirs, n, 1);
    if (own.rank == 0) {
        memcpy(all, data, n);
        memcpy((char *)all + n, theirs, n);
    }
}

/* Rank 1 is gone once it has joined; rank 0 hears of it, and comes to its end only then. */
static void be_rank(int rank)
{
    int said[2];
    char byte;
    own.rank = rank;
    own.host = name_host;
    own.broadcast = move;
    own.gather = collect;
    if (pipe(said) != 0 || loss_watch(&own, said[1]) != 0)
        _exit(2);
    if (rank == 1)
        _exit(0);
    if (read(said[0], &byte, 1) != 1)
        _exit(2);
    loss_expect_end();
    poll(NULL, 0, ENDS_MS);
    _exit(STAYED);
}

static void test_end_after_loss(void **state)
{
    pid_t pids[2];
    int status;
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pipe(links[i]), 0);
    for (int i = 0; i < 2; i++)
        if ((pids[i] = fork()) == 0)
            be_rank(i);
    assert_int_equal(waitpid(pids[1], &status, 0), pids[1]);
    assert_int_equal(waitpid(pids[0], &status, 0), pids[0]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_end_after_loss)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
