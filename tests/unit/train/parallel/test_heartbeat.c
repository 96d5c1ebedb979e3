/* Who is noticed to be lost, and who is not. */
#include "tests/lib/test.h"

#include "train/parallel/heartbeat.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 4, BEAT_MS = 50, SILENT_MS = 2000, PATIENCE_MS = 60000 };

/* What rank 0 has heard of. */
static struct {
    atomic_int n, rank, how;
} heard;

static void note_loss(void *user, int rank, enum heartbeat_end how, int n)
{
    (void)user;
    assert_int_equal(n, 1);
    heard.rank = rank;
    heard.how = (int)how;
    heard.n++;
}

static void end_child(void *user, int rank, enum heartbeat_end how, int n)
{
    (void)user, (void)n;
    _exit(rank == 0 && how == HEARTBEAT_ENDED ? 7 : 8);
}

static void sleep_ms(int ms)
{
    poll(NULL, 0, ms);
}

/* A rank that beats until it is told otherwise: 'b' down the pipe says goodbye. */
static pid_t start_rank(int rank, const struct heartbeat_place *place, int *tell)
{
    int orders[2], ready[2];
    char byte;
    assert_int_equal(pipe(orders), 0);
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct heartbeat *h;
        const struct heartbeat_config c = {.rank = rank,
                                           .size = SIZE,
                                           .beat_ms = BEAT_MS,
                                           .silent_ms = 1000000,
                                           .lost = end_child};
        close(orders[1]);
        if (heartbeat_join(&h, &c, place) != 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        while (read(orders[0], &byte, 1) == 1 && byte != 'b')
            ;
        heartbeat_stop(h);
        _exit(0);
    }
    close(orders[0]);
    close(ready[1]);
    *tell = orders[1];
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

struct crew {
    struct heartbeat *first;
    pid_t pids[SIZE];
    int tell[SIZE];
};

static void gather_crew(struct crew *w)
{
    struct heartbeat_place place;
    const struct heartbeat_config c = {
        .size = SIZE, .beat_ms = BEAT_MS, .silent_ms = SILENT_MS, .lost = note_loss};
    heard.n = 0;
    assert_ok(heartbeat_listen(&w->first, &c, true, &place));
    for (int i = 1; i < SIZE; i++)
        w->pids[i] = start_rank(i, &place, &w->tell[i]);
    heartbeat_watch(w->first, (const bool[SIZE]){false, true, true, true});
}

static void dismiss(struct crew *w, int rank, int want)
{
    int status;
    assert_int_equal(write(w->tell[rank], "b", 1), 1);
    assert_int_equal(waitpid(w->pids[rank], &status, 0), w->pids[rank]);
    assert_int_equal(status, want);
    close(w->tell[rank]);
}

static void wait_for_loss(int n)
{
    for (int i = 0; i < PATIENCE_MS / 20 && heard.n < n; i++)
        sleep_ms(20);
    assert_int_equal(heard.n, n);
}

static void those_that_say_goodbye_are_not_lost(void **state)
{
    struct crew w;
    (void)state;
    gather_crew(&w);
    for (int i = 1; i < SIZE; i++)
        dismiss(&w, i, 0);
    sleep_ms(3 * BEAT_MS);
    heartbeat_stop(w.first);
    assert_int_equal(heard.n, 0);
}

static void one_that_is_killed_is_noticed(void **state)
{
    struct crew w;
    (void)state;
    gather_crew(&w);
    kill(w.pids[2], SIGKILL);
    wait_for_loss(1);
    assert_int_equal(heard.rank, 2);
    assert_int_equal(heard.how, HEARTBEAT_ENDED);
    waitpid(w.pids[2], NULL, 0);
    close(w.tell[2]);
    dismiss(&w, 1, 0);
    dismiss(&w, 3, 0);
    heartbeat_stop(w.first);
    assert_int_equal(heard.n, 1);
}

static void one_that_is_stopped_is_noticed(void **state)
{
    struct crew w;
    (void)state;
    gather_crew(&w);
    kill(w.pids[1], SIGSTOP);
    wait_for_loss(1);
    assert_int_equal(heard.rank, 1);
    assert_int_equal(heard.how, HEARTBEAT_SILENT);
    kill(w.pids[1], SIGKILL);
    waitpid(w.pids[1], NULL, 0);
    close(w.tell[1]);
    dismiss(&w, 2, 0);
    dismiss(&w, 3, 0);
    heartbeat_stop(w.first);
}

/* Rank 0 goes without a word: the others hear of it. */
static void the_first_is_missed(void **state)
{
    struct heartbeat_place place;
    struct heartbeat *h;
    int pipes[2], status;
    (void)state;
    assert_int_equal(pipe(pipes), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        const struct heartbeat_config c = {.size = 2, .lost = note_loss};
        if (heartbeat_listen(&h, &c, true, &place) != 0 ||
            write(pipes[1], &place, sizeof place) != (ssize_t)sizeof place)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(pipes[0], &place, sizeof place), sizeof place);
    const struct heartbeat_config c = {.rank = 1, .size = 2, .lost = note_loss};
    heard.n = 0;
    assert_ok(heartbeat_join(&h, &c, &place));
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    wait_for_loss(1);
    assert_int_equal(heard.rank, 0);
    heartbeat_stop(h);
    close(pipes[0]);
    close(pipes[1]);
}

/* Of others than the world's ranks nothing is believed. */
static void strangers_are_turned_away(void **state)
{
    struct crew w;
    struct heartbeat_place place, wrong;
    struct heartbeat *h;
    const struct heartbeat_config c = {
        .size = SIZE, .beat_ms = BEAT_MS, .silent_ms = SILENT_MS, .lost = note_loss};
    (void)state;
    heard.n = 0;
    assert_ok(heartbeat_listen(&w.first, &c, true, &place));
    wrong = place;
    wrong.token[3] ^= 1;
    const struct heartbeat_config other = {.rank = 1, .size = SIZE, .lost = note_loss};
    assert_fails(heartbeat_join(&h, &other, &wrong), ERR_IO, "cannot reach process 0 by TCP");
    for (int i = 1; i < SIZE; i++)
        w.pids[i] = start_rank(i, &place, &w.tell[i]);
    heartbeat_watch(w.first, (const bool[SIZE]){false, true, true, true});
    /* One that is a rank already is no other. */
    assert_fails(heartbeat_join(&h, &other, &place), ERR_IO, "cannot reach process 0 by TCP");
    for (int i = 1; i < SIZE; i++)
        dismiss(&w, i, 0);
    heartbeat_stop(w.first);
    assert_int_equal(heard.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_say_goodbye_are_not_lost),
        cmocka_unit_test(one_that_is_killed_is_noticed),
        cmocka_unit_test(one_that_is_stopped_is_noticed),
        cmocka_unit_test(the_first_is_missed),
        cmocka_unit_test(strangers_are_turned_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
