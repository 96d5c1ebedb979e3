#include "train/parallel/loss.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/parallel/heartbeat.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * How long is waited before this process ends, when another is lost:
 *   LAUNCHER_MS   mpirun ends all itself where a process has ended, and says how that was
 *   FIRST_MS      where a host is cut off, rank 0 is to say so before those there miss rank 0
 *   APART_MS      others that miss rank 0 say so one after another, so that one is enough
 *   BUSY_MS       rank 0 may still compute before it comes to wait, and only then saves; or it is
 *                 at something that needs no other
 *   ENDING_MS     no rank waits for another any more, but MPI's own end does
 *   MISSED_MS     whoever misses this one, which was stopped and goes on, has said so then
 *   CUT_OFF_MS    what was said is on its way to mpirun, if there is one
 */
enum {
    LAUNCHER_MS = 3000,
    FIRST_MS = 1500,
    APART_MS = 1000,
    BUSY_MS = 600000,
    ENDING_MS = 3000,
    MISSED_MS = FIRST_MS + 2 * APART_MS,
    CUT_OFF_MS = 1000
};

static struct {
    struct loss_world world;
    struct heartbeat *heartbeat;
    int said_to;
    _Atomic(void (*)(int fd, const struct loss *l)) say;
    void (*act)(void *user);
    void *user;
    atomic_bool needs_all, noted, taken, ending;
    pthread_t waiting; /* of rank 0, for its main thread to come and save */
    bool waits;
} watch = {.said_to = -1};

static void say_plainly(int fd, const struct loss *l)
{
    char text[600], others[48] = "";
    if (l->n > 1)
        snprintf(others, sizeof others, " with %d other%s of its host", l->n - 1,
                 l->n == 2 ? "" : "s");
    const int n = snprintf(text, sizeof text, "prattle: rank %d (%s) was lost%s: %s\n", l->rank,
                           l->host, others, l->reason);
    (void)!write(fd, text, (size_t)n);
}

void loss_say_by(void (*say)(int fd, const struct loss *l))
{
    watch.say = say;
}

int loss_words(void)
{
    return watch.said_to;
}

void loss_use(void (*act)(void *user), void *user)
{
    watch.act = act;
    watch.user = user;
}

void loss_needs_all(bool needs)
{
    watch.needs_all = needs;
}

/* ---- by the thread of the heartbeats ---- */

static void say_loss(int rank, enum heartbeat_end how, int n)
{
    char reason[96];
    void (*say)(int fd, const struct loss *l) = watch.say;
    if (how == HEARTBEAT_ENDED)
        snprintf(reason, sizeof reason, LOSS_ENDED);
    else
        snprintf(reason, sizeof reason, LOSS_SILENT, HEARTBEAT_SILENT_MS / 1000);
    const struct loss l = {.rank = rank, .n = n, .host = watch.world.host(rank), .reason = reason};
    (say != NULL ? say : say_plainly)(watch.said_to, &l);
}

/* Not by exit: other threads are at work. Rank 0 may come to its end while it is waited for. */
static void end_unless_taken(void)
{
    enum { LOOK_MS = 100 };
    for (int busy = 0, ending = 0; busy < BUSY_MS && ending < ENDING_MS && !watch.taken;
         *(watch.ending ? &ending : &busy) += LOOK_MS)
        poll(NULL, 0, LOOK_MS);
    if (!watch.taken)
        _exit(1);
}

static void *wait_and_end(void *unused)
{
    end_unless_taken();
    return unused;
}

/* Where this host is cut off from mpirun's, its daemon here would wait for a quarter of an hour. */
static void end_daemon(void)
{
    char name[16] = "", path[64];
    const pid_t parent = getppid();
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)parent);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, name, sizeof name - 1) <= 0 ||
        (strcmp(name, "orted\n") != 0 && strcmp(name, "prted\n") != 0))
        return;
    poll(NULL, 0, CUT_OFF_MS);
    kill(parent, SIGKILL);
}

/* mpirun is quicker than the others where it sees a process end. */
static void note_loss(void *user, int rank, enum heartbeat_end how, int n)
{
    (void)user;
    if (how == HEARTBEAT_MISSED) { /* it is for those who miss this rank to say so, and to save */
        poll(NULL, 0, MISSED_MS);
        _exit(1);
    }
    if (atomic_exchange(&watch.noted, true))
        return;
    if (watch.world.rank == 0) { /* heartbeats go on meanwhile, or the others would miss this one */
        say_loss(rank, how, n);
        if (watch.needs_all && !watch.ending) {
            poll(NULL, 0, how == HEARTBEAT_ENDED ? LAUNCHER_MS : 0);
            _exit(1);
        }
        watch.waits = pthread_create(&watch.waiting, NULL, wait_and_end, NULL) == 0;
        if (!watch.waits)
            end_unless_taken();
        return;
    }
    if (how == HEARTBEAT_ENDED) {
        poll(NULL, 0, LAUNCHER_MS);
    } else {
        poll(NULL, 0, FIRST_MS + (watch.world.rank - 1) * APART_MS);
        say_loss(rank, how, n);
        end_daemon();
    }
    _exit(1);
}

/* ---- by the main thread ---- */

void loss_check(void)
{
    sigset_t stops;
    if (!watch.noted || watch.world.rank > 0 || atomic_exchange(&watch.taken, true))
        return;
    /* mpirun asks for an end before it makes one: there is something to do first. */
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &stops, NULL);
    if (watch.act != NULL)
        watch.act(watch.user);
    _exit(1);
}

static bool is_same_host(void *user, int rank, int other)
{
    (void)user;
    return strcmp(watch.world.host(rank), watch.world.host(other)) == 0;
}

/* Rank 0 has the address, the others come there. */
static bool join_heartbeat(void)
{
    struct heartbeat_place place;
    bool here = true;
    const struct heartbeat_config c = {.rank = watch.world.rank,
                                       .size = watch.world.size,
                                       .lost = note_loss,
                                       .same_host = is_same_host};
    for (int i = 1; i < watch.world.size; i++)
        here &= is_same_host(NULL, i, 0);
    memset(&place, 0, sizeof place);
    if (watch.world.rank == 0 && heartbeat_listen(&watch.heartbeat, &c, here, &place) != 0)
        err_clear();
    watch.world.broadcast(&place, sizeof place, 0);
    if (watch.world.rank > 0 && place.n > 0 && heartbeat_join(&watch.heartbeat, &c, &place) != 0)
        err_clear();
    return watch.heartbeat != NULL;
}

int loss_watch(const struct loss_world *w, int said_to)
{
    bool *joined = mem_array((size_t)w->size, sizeof *joined);
    watch.world = *w;
    watch.said_to = said_to;
    if (joined == NULL)
        return ERR_NOMEM;
    const bool own = join_heartbeat();
    w->gather(joined, &own, sizeof own);
    if (w->rank == 0 && own)
        heartbeat_watch(watch.heartbeat, joined);
    mem_free(joined);
    return 0;
}

void loss_expect_end(void)
{
    watch.ending = true;
}

void loss_forget(void)
{
    heartbeat_stop(watch.heartbeat);
    watch.heartbeat = NULL;
    if (watch.waits)
        pthread_join(watch.waiting, NULL);
    watch.waits = false;
}
