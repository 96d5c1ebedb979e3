/*
 * The leader thread is the OpenMP master. A job goes through these states:
 *
 *   idle       fn == NULL, !busy    the leader waits on `wake`
 *     par_start: sets fn, arg and busy under the lock, signals wake
 *   running    fn != NULL, busy     the leader and the team run fn, without the lock
 *     every thread has returned: fn = NULL, busy = false, broadcast on idle
 *   idle       par_done, par_wait and par_wait_s see busy == false
 *
 * So there is one job at a time, and a thread that sees busy == false also sees all that the job
 * wrote (release and acquire). par_close sets quit, with which an idle leader ends.
 */
#include "model/base/par.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/profile.h"
#include "model/base/thread.h"

#include <linux/futex.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A thread that waits spins for so long, since to wake one that sleeps takes some microseconds; a
 * peer that comes later has probably lost its CPU to another program. */
#define SPIN_S 1e-4
enum { LONG_SPIN = 4096 };

static struct {
    pthread_t leader;
    bool open, pin;
    unsigned generation; /* counts par_open, so that threads settle once for each team */
    int n;
    cpu_set_t allowed;
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    par_fn *fn; /* NULL while idle */
    void *arg;
    bool quit;
    atomic_bool busy;
    /* The caller's, while it waits for the team. */
    bool caller_waits;
    enum profile_part caller_part;
} team = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .idle = PTHREAD_COND_INITIALIZER};

/*
 * A central sense-reversing barrier, whose round is also a futex; each field has its own cache
 * line. The last thread to arrive writes round and then reads sleeping, one that goes to sleep
 * writes sleeping before the kernel compares round: so either the last one sees the sleeper, or the
 * sleeper the new round.
 */
static struct {
    _Alignas(64) atomic_int arrived;
    _Alignas(64) atomic_uint round;
    _Alignas(64) atomic_int sleeping;
    _Alignas(64) int n;
    bool spin; /* every thread has a CPU */
} meet;

/*
 * What a thread has offered: `left` is the offer's number << 32 | how many items nobody has begun.
 * Who takes one has made sure that the offer stays as it is until `done`, the number of items that
 * others have done, says so. The number tells an offer from the next one of as many items.
 */
struct offer {
    _Alignas(64) _Atomic uint64_t left;
    par_item_fn *fn;
    void *arg;
    int n;
    enum profile_part part;
    _Alignas(64) atomic_int done;
};
static struct offer offers[PAR_MAX_THREADS];
static _Thread_local int own_thread;

static void relax_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static bool is_round(unsigned round)
{
    return atomic_load_explicit(&meet.round, memory_order_acquire) == round;
}

static void wake_sleepers(void)
{
    if (atomic_load(&meet.sleeping) > 0)
        syscall(SYS_futex, &meet.round, FUTEX_WAKE_PRIVATE, PAR_MAX_THREADS, NULL, NULL, 0);
}

/* How many items of o nobody had begun: the caller has to do the one that many before the end;
 * 0: none. */
static int take_item(struct offer *o)
{
    uint64_t left = atomic_load_explicit(&o->left, memory_order_relaxed);
    while ((uint32_t)left > 0)
        if (atomic_compare_exchange_weak_explicit(&o->left, &left, left - 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return (int)(uint32_t)left;
    return 0;
}

/* Items of another thread until it has none left, if there is such a thread; *last is the one that
 * had some last. */
static bool help_others(int *last)
{
    for (int i = 0; i < meet.n; i++) {
        struct offer *o = &offers[(*last + i) % meet.n];
        int left = take_item(o);
        if (left == 0)
            continue;
        *last = (*last + i) % meet.n;
        const enum profile_part was = profile_now();
        do {
            profile_change(o->part);
            o->fn(o->arg, o->n - left);
            atomic_fetch_add_explicit(&o->done, 1, memory_order_release);
        } while ((left = take_item(o)) > 0);
        profile_change(was);
        return true;
    }
    return false;
}

void par_items(par_item_fn *fn, void *arg, int n)
{
    struct offer *o = &offers[own_thread];
    int own = 0, spins = 0;
    if (meet.n == 1 || n == 1) {
        for (int i = 0; i < n; i++)
            fn(arg, i);
        return;
    }
    const uint64_t number = (atomic_load_explicit(&o->left, memory_order_relaxed) >> 32) + 1;
    o->fn = fn;
    o->arg = arg;
    o->n = n;
    o->part = profile_now();
    atomic_store_explicit(&o->done, 0, memory_order_relaxed);
    atomic_store_explicit(&o->left, number << 32 | (uint32_t)n, memory_order_release);
    if (meet.spin)
        wake_sleepers();
    for (int left; (left = take_item(o)) > 0; own++)
        fn(arg, n - left);
    while (atomic_load_explicit(&o->done, memory_order_acquire) < n - own) {
        relax_cpu();
        if (++spins % LONG_SPIN == 0)
            sched_yield(); /* who helps has perhaps lost its CPU */
    }
}

static void spin_while_round(unsigned round)
{
    double end = 0;
    int last = own_thread + 1;
    for (int spins = 1; is_round(round); spins++) {
        relax_cpu();
        if (spins % 16 == 0 && help_others(&last))
            end = 0;
        if (spins % 256 != 0)
            continue;
        const double now = clock_s();
        if (end == 0)
            end = now + SPIN_S;
        else if (now >= end)
            return;
    }
}

/* Until the round is over, or a thread offers items; who offers just now goes unhelped. */
static void sleep_in_round(unsigned round)
{
    atomic_fetch_add(&meet.sleeping, 1);
    if (is_round(round))
        syscall(SYS_futex, &meet.round, FUTEX_WAIT_PRIVATE, round, NULL, NULL, 0);
    atomic_fetch_sub(&meet.sleeping, 1);
}

void par_barrier(void)
{
    unsigned round = atomic_load_explicit(&meet.round, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&meet.arrived, 1, memory_order_acq_rel) == meet.n - 1) {
        atomic_store_explicit(&meet.arrived, 0, memory_order_relaxed);
        atomic_store(&meet.round, round + 1);
        wake_sleepers();
        return;
    }
    enum profile_part was = profile_set(PART_WAITS);
    while (is_round(round)) {
        if (meet.spin)
            spin_while_round(round);
        if (is_round(round))
            sleep_in_round(round);
    }
    profile_resume(was);
}

/* From Linux 6.12 on a thread may say in what slices it wants its share of a CPU. With a shorter
 * slice than the other program's it goes on as soon as it is woken, instead of at the next tick,
 * some milliseconds later. It gets no more than its share, and older kernels take no notice. */
static void ask_for_short_slices(void)
{
    enum { SLICE_NS = 100000 };
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice, deadline, period;
    } a = {0}; /* struct sched_attr of sched_setattr(2), its first version; valgrind does not know
                  who fills it */
    static _Thread_local bool asked;
    if (asked)
        return;
    asked = true;
    if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0 || a.policy != SCHED_OTHER)
        return;
    a.slice = SLICE_NS;
    (void)!syscall(SYS_sched_setattr, 0, &a, 0);
}

/* Pin the calling thread to CPU number `thread` of the allowed set. */
static void pin_thread(const cpu_set_t *allowed, int thread)
{
    int skip = thread % CPU_COUNT(allowed);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, allowed) && skip-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            return;
        }
}

/* Of each thread, once for each team. */
static void settle_thread(int thread)
{
    static _Thread_local unsigned settled_in;
    if (settled_in == team.generation)
        return;
    settled_in = team.generation;
    ask_for_short_slices();
    if (team.pin)
        pin_thread(&team.allowed, thread);
}

static void run_job(par_fn *fn, void *arg)
{
#pragma omp parallel num_threads(team.n)
    {
        int thread = omp_get_thread_num(), n = omp_get_num_threads();
        settle_thread(thread);
        own_thread = thread;
#pragma omp single
        {
            meet.n = n;
            meet.spin = n <= CPU_COUNT(&team.allowed);
            atomic_store(&meet.arrived, 0);
        }
        profile_enter(thread);
        fn(arg, thread, n);
        par_barrier(); /* OpenMP's own would spin on a shared CPU for milliseconds */
        profile_leave();
    }
}

static void *lead_team(void *unused)
{
    (void)unused;
    omp_set_dynamic(0);
    pthread_mutex_lock(&team.lock);
    for (;;) {
        while (team.fn == NULL && !team.quit)
            pthread_cond_wait(&team.wake, &team.lock);
        if (team.fn == NULL)
            break;
        par_fn *fn = team.fn;
        void *arg = team.arg;
        pthread_mutex_unlock(&team.lock);
        run_job(fn, arg);
        pthread_mutex_lock(&team.lock);
        team.fn = NULL;
        atomic_store_explicit(&team.busy, false, memory_order_release);
        pthread_cond_broadcast(&team.idle);
    }
    pthread_mutex_unlock(&team.lock);
    /* Joins the other threads; this thread's end alone would not wait for them. */
    omp_pause_resource(omp_pause_hard, omp_get_initial_device());
    return NULL;
}

int par_open(int n_threads, bool pin)
{
    if (n_threads < 0 || n_threads > PAR_MAX_THREADS)
        return err_set(ERR_RANGE, "threads must be 0 to %d, not %d", PAR_MAX_THREADS, n_threads);
    par_close();
    if (sched_getaffinity(0, sizeof team.allowed, &team.allowed) != 0)
        return err_errno("cannot read the set of allowed processors");
    int cpus = CPU_COUNT(&team.allowed);
    team.n = n_threads == 0 ? cpus : n_threads;
    /* A smaller team is not pinned: a second program like this one would pin its team to the same
     * CPUs. */
    team.pin = pin && team.n == cpus;
    team.quit = false;
    team.generation++;
    /* Signals are delivered to the caller, never to the team. */
    if (thread_start(&team.leader, lead_team, NULL) != 0)
        return ERR_NOMEM;
    team.open = true;
    return 0;
}

void par_close(void)
{
    if (!team.open)
        return;
    pthread_mutex_lock(&team.lock);
    team.quit = true;
    pthread_cond_signal(&team.wake);
    pthread_mutex_unlock(&team.lock);
    pthread_join(team.leader, NULL);
    team.open = false;
}

bool par_pinned(void)
{
    return team.pin;
}

int par_threads(void)
{
    if (!team.open && par_open(0, true) != 0)
        return 1;
    return team.n;
}

static void leave_to_team(void)
{
    team.caller_part = profile_set(PART_WAITS);
    team.caller_waits = true;
}

static void come_back(void)
{
    if (team.caller_waits)
        profile_resume(team.caller_part);
    team.caller_waits = false;
}

void par_start(par_fn *fn, void *arg)
{
    par_threads();
    if (!team.open) { /* the system has no thread left: the caller runs the job */
        team.n = 1;
        run_job(fn, arg);
        return;
    }
    ask_for_short_slices();
    leave_to_team();
    pthread_mutex_lock(&team.lock);
    team.fn = fn;
    team.arg = arg;
    atomic_store(&team.busy, true);
    pthread_cond_signal(&team.wake);
    pthread_mutex_unlock(&team.lock);
}

bool par_done(void)
{
    return !atomic_load_explicit(&team.busy, memory_order_acquire);
}

void par_wait(void)
{
    pthread_mutex_lock(&team.lock);
    while (atomic_load(&team.busy))
        pthread_cond_wait(&team.idle, &team.lock);
    pthread_mutex_unlock(&team.lock);
    come_back();
}

bool par_wait_s(double seconds)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    long long ns = end.tv_nsec + (long long)(seconds * 1e9);
    end.tv_sec += ns / 1000000000;
    end.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&team.lock);
    while (atomic_load(&team.busy) &&
           pthread_cond_clockwait(&team.idle, &team.lock, CLOCK_MONOTONIC, &end) == 0)
        ;
    pthread_mutex_unlock(&team.lock);
    const bool done = par_done();
    if (done)
        come_back();
    return done;
}

void par_run(par_fn *fn, void *arg)
{
    par_start(fn, arg);
    par_wait();
}
