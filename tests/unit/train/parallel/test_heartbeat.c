/* Who is noticed to be lost, and who is not. */
#include "tests/lib/test.h"

#include "train/parallel/heartbeat.h"
#include "train/parallel/heartbeat_sockets.h"

#include <arpa/inet.h>
#include <dlfcn.h>
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
    _exit(rank == 0 && how == HEARTBEAT_ENDED ? 7 : rank == 2 && how == HEARTBEAT_MISSED ? 9 : 8);
}

static void sleep_ms(int ms)
{
    poll(NULL, 0, ms);
}

struct crew {
    struct heartbeat *first;
    pid_t pids[SIZE];
    int tell[SIZE], ready[SIZE];
};

/* A rank that is told the place, and beats until it is told otherwise: 'b' says goodbye. */
static void be_rank(int rank, int orders, int ready)
{
    struct heartbeat_place place;
    struct heartbeat *h;
    char byte;
    const struct heartbeat_config c = {
        .rank = rank, .size = SIZE, .beat_ms = BEAT_MS, .silent_ms = 1000000, .lost = end_child};
    if (read(orders, &place, sizeof place) != (ssize_t)sizeof place ||
        heartbeat_join(&h, &c, &place) != 0 || write(ready, "", 1) != 1)
        _exit(1);
    while (read(orders, &byte, 1) == 1 && byte != 'b')
        ;
    heartbeat_stop(h);
    _exit(0);
}

/* Before there is a thread: a lock that one holds at a fork, AddressSanitizer's own as well, is
 * never free in the child. */
static void hire(struct crew *w)
{
    for (int i = 1; i < SIZE; i++) {
        int orders[2], ready[2];
        assert_int_equal(pipe(orders), 0);
        assert_int_equal(pipe(ready), 0);
        w->pids[i] = fork();
        if (w->pids[i] == 0) {
            close(orders[1]);
            close(ready[0]);
            be_rank(i, orders[0], ready[1]);
        }
        close(orders[0]);
        close(ready[1]);
        w->tell[i] = orders[1];
        w->ready[i] = ready[0];
    }
}

static void let_join(struct crew *w, const struct heartbeat_place *place)
{
    char byte;
    for (int i = 1; i < SIZE; i++) {
        assert_int_equal(write(w->tell[i], place, sizeof *place), sizeof *place);
        assert_int_equal(read(w->ready[i], &byte, 1), 1);
        close(w->ready[i]);
    }
}

static void gather_crew(struct crew *w)
{
    struct heartbeat_place place;
    const struct heartbeat_config c = {
        .size = SIZE, .beat_ms = BEAT_MS, .silent_ms = SILENT_MS, .lost = note_loss};
    heard.n = 0;
    hire(w);
    assert_ok(heartbeat_listen(&w->first, &c, true, &place));
    let_join(w, &place);
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

/* Killed while rank 0 does not watch yet, which it will: missed then. */
static void one_that_ends_before_it_is_watched_is_noticed(void **state)
{
    struct heartbeat_place place;
    struct crew w;
    const struct heartbeat_config c = {
        .size = SIZE, .beat_ms = BEAT_MS, .silent_ms = SILENT_MS, .lost = note_loss};
    (void)state;
    heard.n = 0;
    hire(&w);
    assert_ok(heartbeat_listen(&w.first, &c, true, &place));
    let_join(&w, &place);
    for (int i = 2; i < SIZE; i++) {
        kill(w.pids[i], SIGKILL);
        waitpid(w.pids[i], NULL, 0);
        close(w.tell[i]);
    }
    sleep_ms(3 * BEAT_MS);
    assert_int_equal(heard.n, 0);
    /* Rank 3 is as one that gave up waiting for the first byte: it has not joined. */
    heartbeat_watch(w.first, (const bool[SIZE]){false, true, true, false});
    wait_for_loss(1);
    sleep_ms(3 * BEAT_MS);
    assert_int_equal(heard.n, 1);
    assert_int_equal(heard.rank, 2);
    assert_int_equal(heard.how, HEARTBEAT_ENDED);
    dismiss(&w, 1, 0);
    heartbeat_stop(w.first);
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

static void one_that_goes_on_learns_that_it_was_missed(void **state)
{
    struct crew w;
    int status;
    (void)state;
    gather_crew(&w);
    kill(w.pids[2], SIGSTOP);
    wait_for_loss(1);
    assert_int_equal(heard.how, HEARTBEAT_SILENT);
    kill(w.pids[2], SIGCONT);
    assert_int_equal(waitpid(w.pids[2], &status, 0), w.pids[2]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    close(w.tell[2]);
    dismiss(&w, 1, 0);
    dismiss(&w, 3, 0);
    heartbeat_stop(w.first);
    assert_int_equal(heard.n, 1);
}

/* Ranks 1 and 2 are of one host, 3 of another. */
static bool is_same_host(void *user, int rank, int other)
{
    (void)user;
    return (rank <= 2) == (other <= 2);
}

static void note_host(void *user, int rank, enum heartbeat_end how, int n)
{
    (void)user, (void)how;
    if (heard.n++ == 0) {
        heard.rank = rank;
        heard.how = n;
    }
}

/* Two hosts are gone at once: only those of the same one are counted with the first. */
static void others_of_its_host_are_counted(void **state)
{
    struct heartbeat_place place;
    struct crew w;
    const struct heartbeat_config c = {.size = SIZE,
                                       .beat_ms = BEAT_MS,
                                       .silent_ms = SILENT_MS,
                                       .lost = note_host,
                                       .same_host = is_same_host};
    (void)state;
    heard.n = 0;
    hire(&w);
    assert_ok(heartbeat_listen(&w.first, &c, true, &place));
    let_join(&w, &place);
    for (int i = 1; i < SIZE; i++)
        kill(w.pids[i], SIGSTOP);
    heartbeat_watch(w.first, (const bool[SIZE]){false, true, true, true});
    wait_for_loss(3);
    /* Whose last byte was heard first is lost first. */
    assert_int_equal(heard.how, heard.rank == 3 ? 1 : 2);
    for (int i = 1; i < SIZE; i++) {
        kill(w.pids[i], SIGKILL);
        waitpid(w.pids[i], NULL, 0);
        close(w.tell[i]);
    }
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
    hire(&w);
    assert_ok(heartbeat_listen(&w.first, &c, true, &place));
    wrong = place;
    wrong.token[3] ^= 1;
    const struct heartbeat_config other = {.rank = 1, .size = SIZE, .lost = note_loss};
    assert_fails(heartbeat_join(&h, &other, &wrong), ERR_IO, "cannot reach process 0 by TCP");
    let_join(&w, &place);
    heartbeat_watch(w.first, (const bool[SIZE]){false, true, true, true});
    /* One that is a rank already is no other. */
    assert_fails(heartbeat_join(&h, &other, &place), ERR_IO, "cannot reach process 0 by TCP");
    for (int i = 1; i < SIZE; i++)
        dismiss(&w, i, 0);
    heartbeat_stop(w.first);
    assert_int_equal(heard.n, 0);
}

/* Words that begin with the token and are as long as a hello pass, and no others. */
static void the_kernel_drops_what_others_send(void **state)
{
    static const unsigned char token[HEARTBEAT_BEGIN] = "0123456789abcde";
    struct sockaddr_in6 place = {.sin6_family = AF_INET6};
    unsigned char words[24] = {0}, got[24];
    int tcp = -1;
    (void)state;
    memcpy(words, token, sizeof token);
    assert_ok(heartbeat_bind(&tcp, false, &place.sin6_port));
    place.sin6_addr.s6_addr[10] = place.sin6_addr.s6_addr[11] = 0xff; /* 127.0.0.1 */
    place.sin6_addr.s6_addr[12] = 127, place.sin6_addr.s6_addr[15] = 1;
    int udp = heartbeat_bind_datagrams(tcp), connection = heartbeat_connect(&place),
        sender = heartbeat_connect_datagrams(connection);
    assert_true(udp >= 0 && sender >= 0);
    heartbeat_filter_datagrams(udp, token, 20);
    assert_int_equal(send(sender, words, 19, 0), 19);
    assert_int_equal(send(sender, words, 21, 0), 21);
    for (int i = 0; i < HEARTBEAT_BEGIN; i++) {
        words[i] ^= 1;
        assert_int_equal(send(sender, words, 20, 0), 20);
        words[i] ^= 1;
    }
    words[HEARTBEAT_BEGIN] = 7;
    assert_int_equal(send(sender, words, 20, 0), 20);
    assert_int_equal(recv(udp, got, sizeof got, MSG_DONTWAIT), 20);
    assert_memory_equal(got, words, 20);
    assert_int_equal(recv(udp, got, sizeof got, MSG_DONTWAIT), -1);
    heartbeat_close(&sender);
    heartbeat_close(&connection);
    heartbeat_close(&udp);
    heartbeat_close(&tcp);
}

/* Instead of the C library's: while there is a flood, a datagram is always there. */
static atomic_bool flooding;
static atomic_int flooded;
ssize_t recvfrom(int fd, void *out, size_t n, int flags, struct sockaddr *from, socklen_t *from_n)
{
    static ssize_t (*next)(int, void *, size_t, int, struct sockaddr *, socklen_t *);
    if (flooding) {
        flooded++;
        memset(out, 0, n);
        return (ssize_t)n;
    }
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "recvfrom");
    return next(fd, out, n, flags, from, from_n);
}

/* What a compiler that checks sizes by itself (_FORTIFY_SOURCE) calls in its place. */
ssize_t __recvfrom_chk(int fd, void *out, size_t n, size_t room, int flags, struct sockaddr *from,
                       socklen_t *from_n);
ssize_t __recvfrom_chk(int fd, void *out, size_t n, size_t room, int flags, struct sockaddr *from,
                       socklen_t *from_n)
{
    (void)room;
    return recvfrom(fd, out, n, flags, from, from_n);
}

/* Send the first a datagram that passes, so that it listens. */
static void send_one(const struct heartbeat_place *place)
{
    struct {
        unsigned char token[HEARTBEAT_TOKEN];
        uint32_t rank;
    } hello = {.rank = 1};
    int connection = heartbeat_connect(&place->addresses[0]),
        sender = heartbeat_connect_datagrams(connection);
    memcpy(hello.token, place->token, sizeof hello.token);
    assert_int_equal(send(sender, &hello, sizeof hello, 0), sizeof hello);
    heartbeat_close(&sender);
    heartbeat_close(&connection);
}

/* One that hears no end of datagrams goes on beating, and can be stopped. */
static void a_flood_starves_nobody(void **state)
{
    struct crew w;
    struct heartbeat_place place;
    const struct heartbeat_config c = {
        .size = SIZE, .beat_ms = BEAT_MS, .silent_ms = 1000000, .lost = note_loss};
    (void)state;
    heard.n = 0;
    hire(&w);
    assert_ok(heartbeat_listen(&w.first, &c, false, &place));
    flooding = true;
    send_one(&place);
    for (int i = 0; i < PATIENCE_MS / 20 && flooded == 0; i++)
        sleep_ms(20);
    assert_true(flooded > 0);
    /* It takes them in meanwhile. */
    let_join(&w, &place);
    for (int i = 1; i < SIZE; i++)
        dismiss(&w, i, 0);
    heartbeat_stop(w.first);
    flooding = false;
    assert_int_equal(heard.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_say_goodbye_are_not_lost),
        cmocka_unit_test(one_that_is_killed_is_noticed),
        cmocka_unit_test(one_that_ends_before_it_is_watched_is_noticed),
        cmocka_unit_test(one_that_is_stopped_is_noticed),
        cmocka_unit_test(one_that_goes_on_learns_that_it_was_missed),
        cmocka_unit_test(others_of_its_host_are_counted),
        cmocka_unit_test(the_first_is_missed),
        cmocka_unit_test(strangers_are_turned_away),
        cmocka_unit_test(the_kernel_drops_what_others_send),
        cmocka_unit_test(a_flood_starves_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
