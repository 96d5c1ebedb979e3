#include "train/parallel/world.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "train/parallel/cleaner.h"
#include "train/parallel/loss.h"
#include "train/parallel/plugin.h"
#include "train/parallel/start.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { PART = 1 << 24, SENTENCE = 1024 };

/* What ranks tell each other of where they are. */
struct rank_place {
    char host[TRANSPORT_NAME];
    cpu_set_t cpus;
};

static struct {
    struct transport t;
    struct rank_place *places; /* [size]; NULL: a world of one */
    int threads;
    bool failed;          /* together (world_agree) */
    pthread_mutex_t lock; /* of calls of the transport */
} world = {.t = {.size = 1}, .lock = PTHREAD_MUTEX_INITIALIZER};

int world_rank(void)
{
    return world.t.rank;
}
int world_size(void)
{
    return world.t.size;
}
const char *world_host(int rank)
{
    return world.places == NULL ? "this host" : world.places[rank].host;
}
int world_threads(void)
{
    return world.threads;
}
bool world_threaded(void)
{
    return !world.t.one_thread;
}

/* ---- where ranks run ---- */

/* Ranks of one host that may use the same processors divide them: each has some of its own, or,
 * where they are fewer than ranks, one thread. */
static void divide_processors(void)
{
    const struct rank_place *own = &world.places[world.t.rank];
    int peers = 0, before = 0, cpus = CPU_COUNT(&own->cpus), at = 0;
    cpu_set_t share;
    for (int i = 0; i < world.t.size; i++) {
        const bool same = strcmp(world.places[i].host, own->host) == 0 &&
                          CPU_EQUAL(&world.places[i].cpus, &own->cpus);
        peers += same;
        before += same && i < world.t.rank;
    }
    if (peers == 1)
        return;
    if (cpus < peers) {
        world.threads = 1;
        return;
    }
    CPU_ZERO(&share);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &own->cpus)) {
            if (at >= cpus * before / peers && at < cpus * (before + 1) / peers)
                CPU_SET(cpu, &share);
            at++;
        }
    if (sched_setaffinity(0, sizeof share, &share) != 0)
        world.threads = CPU_COUNT(&share);
}

static int find_places(void)
{
    struct rank_place own = {.host = ""};
    memcpy(own.host, world.t.host, sizeof own.host);
    world.places = mem_array((size_t)world.t.size, sizeof *world.places);
    if (world.places == NULL)
        return ERR_NOMEM;
    if (sched_getaffinity(0, sizeof own.cpus, &own.cpus) != 0)
        return err_errno("cannot read the set of allowed processors");
    world_all_gather(world.places, &own, sizeof own);
    divide_processors();
    return 0;
}

/* ---- opening ---- */

int world_use(const struct transport *t)
{
    world.t = *t;
    return find_places();
}

/* Rank 0 speaks for all. */
static void hush_rank(void)
{
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0)
        return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

/* What a transport cannot carry any more ends the world: its ranks would wait for ever. */
static void check_transport(int failed)
{
    if (failed)
        world_end_all(1);
}

static int join_world(const struct launch *l, int words)
{
    int rc = plugin_open(&world.t, l->size);
    if (rc != 0) {
        world.t = (struct transport){.size = 1};
        if (l->rank != 0) /* one of them says so */
            hush_rank();
        return rc;
    }
    launch_forget();
    if (world.t.rank != 0)
        hush_rank();
    const struct loss_world own = {.rank = world.t.rank,
                                   .size = world.t.size,
                                   .host = world_host,
                                   .broadcast = world_broadcast,
                                   .gather = world_gather};
    if ((rc = find_places()) == 0 && world.t.size > 1)
        rc = loss_watch(&own, words);
    check_transport(rc);
    return rc;
}

int world_open(void)
{
    const struct launch l = launch_find();
    struct sigaction was, ends = {.sa_handler = SIG_DFL};
    const int there = launch_check();
    if (l.size == 1 || there != 0)
        return there;
    const int words = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    cleaner_start();
    /* Whoever started the ranks takes them along when it is killed. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigaction(SIGTERM, &ends, &was);
    start_begin(&(struct start_config){
        .rank = l.rank, .said_to = words, .limit_s = START_LIMIT_S + l.size});
    const int rc = join_world(&l, words);
    start_end();
    sigaction(SIGTERM, &was, NULL);
    return rc;
}

void world_close(void)
{
    loss_expect_end();
    if (world.t.close != NULL)
        world.t.close(&world.t);
    loss_forget();
    mem_free(world.places);
    world.places = NULL;
    world.threads = 0;
    world.failed = false;
    world.t = (struct transport){.size = 1};
}

void world_end_all(int status)
{
    if (world.t.end_all != NULL)
        world.t.end_all(&world.t, status);
}

/* ---- messages ---- */

void world_pause(int *times)
{
    enum { SPINS = 200, LEAST_NS = 20000, MOST_NS = 1000000, SAME = 20 };
    const int sleeps = ++*times - SPINS;
    if (sleeps <= 0) {
        sched_yield();
        return;
    }
    long ns = LEAST_NS * (1L + sleeps / SAME);
    nanosleep(&(struct timespec){.tv_nsec = ns < MOST_NS ? ns : MOST_NS}, NULL);
}

void world_send(int to, enum world_tag tag, const void *data, size_t n, struct transfer *x)
{
    const enum profile_part was = profile_change(PART_EXCHANGE);
    loss_check();
    pthread_mutex_lock(&world.lock);
    check_transport(world.t.send(&world.t, to, (int)tag, data, n, x));
    pthread_mutex_unlock(&world.lock);
    profile_resume(was);
}

void world_receive(int from, enum world_tag tag, void *data, size_t n, struct transfer *x)
{
    pthread_mutex_lock(&world.lock);
    check_transport(world.t.receive(&world.t, from, (int)tag, data, n, x));
    pthread_mutex_unlock(&world.lock);
}

bool world_test(struct transfer *x, int n)
{
    bool all = true;
    loss_check();
    pthread_mutex_lock(&world.lock);
    for (int i = 0; i < n; i++) {
        bool done = true;
        if (x[i].going)
            check_transport(world.t.test(&world.t, &x[i], &done));
        all &= done;
    }
    pthread_mutex_unlock(&world.lock);
    return all;
}

void world_wait(struct transfer *x, int n)
{
    const enum profile_part was = profile_change(PART_EXCHANGE);
    for (int times = 0; !world_test(x, n);)
        world_pause(&times);
    profile_resume(was);
}

bool world_arrived(int from, enum world_tag tag)
{
    bool arrived = false;
    pthread_mutex_lock(&world.lock);
    check_transport(world.t.probe(&world.t, from, (int)tag, &arrived));
    pthread_mutex_unlock(&world.lock);
    return arrived;
}

void world_send_whole(int to, enum world_tag tag, const void *data, size_t n)
{
    for (size_t at = 0; at < n; at += PART) {
        struct transfer x = {0};
        world_send(to, tag, (const char *)data + at, n - at < PART ? n - at : PART, &x);
        world_wait(&x, 1);
    }
}

void world_receive_whole(int from, enum world_tag tag, void *data, size_t n)
{
    for (size_t at = 0; at < n; at += PART) {
        struct transfer x = {0};
        world_receive(from, tag, (char *)data + at, n - at < PART ? n - at : PART, &x);
        world_wait(&x, 1);
    }
}

void world_swap(int other, const void *own, void *theirs, size_t n)
{
    struct transfer x[2] = {0};
    world_send(other, TAG_GATHER, own, n, &x[0]);
    world_receive(other, TAG_GATHER, theirs, n, &x[1]);
    world_wait(x, 2);
}

/* Down a binary tree whose root is `from`. */
void world_broadcast(void *data, size_t n, int from)
{
    const int size = world.t.size, own = (world.t.rank - from + size) % size;
    if (own > 0)
        world_receive_whole(((own - 1) / 2 + from) % size, TAG_BROADCAST, data, n);
    for (int child = 2 * own + 1; child <= 2 * own + 2 && child < size; child++)
        world_send_whole((child + from) % size, TAG_BROADCAST, data, n);
}

void world_gather(void *all, const void *own, size_t n)
{
    if (world.t.rank != 0) {
        world_send_whole(0, TAG_GATHER, own, n);
        return;
    }
    memcpy(all, own, n);
    for (int i = 1; i < world.t.size; i++)
        world_receive_whole(i, TAG_GATHER, (char *)all + (size_t)i * n, n);
}

void world_all_gather(void *all, const void *own, size_t n)
{
    world_gather(all, own, n);
    world_broadcast(all, (size_t)world.t.size * n, 0);
}

/* ---- agreement ---- */

struct rank_verdict {
    int rank, rc;
    char sentence[SENTENCE];
};

/* The first that failed, on rank 0; ERR_INTERRUPTED counts less than other codes. */
static struct rank_verdict find_failed(const struct rank_verdict *own)
{
    struct rank_verdict found = *own, next;
    for (int i = 1; i < world.t.size; i++) {
        world_receive_whole(i, TAG_GATHER, &next, sizeof next);
        if (next.rc != 0 && (found.rc == 0 || (found.rc == ERR_INTERRUPTED && next.rc != found.rc)))
            found = next;
    }
    return found;
}

int world_agree(int rc)
{
    if (world.t.size == 1)
        return rc;
    struct rank_verdict v = {.rank = world.t.rank, .rc = rc};
    if (rc != 0)
        snprintf(v.sentence, sizeof v.sentence, "%s", err_text());
    if (world.t.rank == 0)
        v = find_failed(&v);
    else
        world_send_whole(0, TAG_GATHER, &v, sizeof v);
    world_broadcast(&v, sizeof v, 0);
    world.failed |= v.rc != 0;
    if (v.rc != 0 && v.rank != 0)
        return err_set(v.rc, "rank %d on %s: %s", v.rank, world_host(v.rank), v.sentence);
    return v.rc == 0 ? 0 : err_set(v.rc, "%s", v.sentence);
}

bool world_has_failed(void)
{
    return world.failed;
}
