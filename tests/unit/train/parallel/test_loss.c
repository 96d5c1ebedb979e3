/* How a process ends that has lost another. */
#include "tests/lib/test.h"

#include "train/parallel/loss.h"

#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ENDS_MS = 12000,    /* well behind what rank 0 is waited for at its end */
    COMPUTES_MS = 9000, /* longer than a rank may be silent, and than those wait that miss it */
    STAYED = 3,
    MOST = 3
};

static int up[MOST][2], down[MOST][2]; /* between rank 0 and each */
static struct loss_world own;
static bool needs_all;

static const char *name_host(int rank)
{
    (void)rank;
    return "here";
}

static void put(int to, const void *data, size_t n)
{
    if (write(to, data, n) != (ssize_t)n)
        _exit(2);
}

static void get(int from, void *data, size_t n)
{
    if (read(from, data, n) != (ssize_t)n)
        _exit(2);
}

static void broadcast(void *data, size_t n, int from)
{
    (void)from;
    if (own.rank > 0)
        get(down[own.rank][0], data, n);
    for (int i = 1; own.rank == 0 && i < own.size; i++)
        put(down[i][1], data, n);
}

static void collect(void *all, const void *data, size_t n)
{
    if (own.rank > 0)
        put(up[own.rank][1], data, n);
    else
        memcpy(all, data, n);
    for (int i = 1; own.rank == 0 && i < own.size; i++)
        get(up[i][0], (char *)all + (size_t)i * n, n);
}

/* Rank 1 is gone once it has joined; rank 0 hears of it, and comes to its end only then. */
static void be_rank(int rank, int size)
{
    int said[2];
    char byte;
    own = (struct loss_world){
        .rank = rank, .size = size, .host = name_host, .broadcast = broadcast, .gather = collect};
    if (pipe(said) != 0 || loss_watch(&own, said[1]) != 0)
        _exit(2);
    if (rank == 1)
        _exit(0);
    if (rank == 2)
        poll(NULL, 0, COMPUTES_MS + 2000);
    if (rank == 2)
        _exit(STAYED);
    if (needs_all) { /* and comes to no end of its own */
        loss_needs_all(true);
        poll(NULL, 0, 2 * ENDS_MS);
        _exit(STAYED);
    }
    get(said[0], &byte, 1);
    if (size > 2)
        poll(NULL, 0, COMPUTES_MS + 2000);
    loss_expect_end();
    poll(NULL, 0, ENDS_MS);
    _exit(STAYED);
}

static void check_ends(int size, const int *expected)
{
    pid_t pids[MOST];
    int status;
    for (int i = 0; i < size; i++) {
        assert_int_equal(pipe(up[i]), 0);
        assert_int_equal(pipe(down[i]), 0);
    }
    for (int i = 0; i < size; i++)
        if ((pids[i] = fork()) == 0)
            be_rank(i, size);
    for (int i = size - 1; i >= 0; i--) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), expected[i]);
    }
}

static void rank_0_ends_after_a_loss(void **state)
{
    (void)state;
    check_ends(2, (const int[]){1, 0});
}

/* What it computes, it computes to its end before it saves; the others must not miss it meanwhile.
 */
static void nor_is_it_missed_before(void **state)
{
    (void)state;
    check_ends(3, (const int[]){1, 0, STAYED});
}

static void nor_goes_on_with_what_needs_all(void **state)
{
    (void)state;
    needs_all = true;
    check_ends(2, (const int[]){1, 0});
    needs_all = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rank_0_ends_after_a_loss),
                                       cmocka_unit_test(nor_is_it_missed_before),
                                       cmocka_unit_test(nor_goes_on_with_what_needs_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
