/* The thread team: its barrier orders memory, its threads end with it, its caller does not wait. */
#include "tests/lib/test.h"

#include "model/base/clock.h"
#include "model/base/par.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 2000, MOST = 8 };
struct rounds {
    int cells[MOST]; /* no atomics: the barrier alone must order them */
    int wrong;
    atomic_int ran;
};

static void count_rounds(void *arg, int thread, int n_threads)
{
    struct rounds *r = arg;
    atomic_fetch_add(&r->ran, 1);
    for (int round = 1; round <= ROUNDS; round++) {
        r->cells[thread] = round;
        par_barrier();
        for (int i = 0; i < n_threads; i++)
            if (r->cells[i] != round && thread == 0)
                r->wrong++;
        par_barrier();
    }
}

static void a_barrier_holds_all_threads(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST; n += n < 3 ? 1 : 5) {
        struct rounds r = {0};
        assert_ok(par_open(n, true));
        assert_int_equal(par_threads(), n);
        par_run(count_rounds, &r);
        assert_int_equal(r.wrong, 0);
        assert_int_equal(atomic_load(&r.ran), n);
    }
    assert_int_equal(par_open(-1, true), ERR_RANGE);
    assert_int_equal(par_open(5000, true), ERR_RANGE);
    par_close();
}

/* As libcrypto's, which is freed as a thread ends: a program that ends meanwhile frees it too. */
struct libraries {
    pthread_key_t key;
    atomic_int begun, gone;
};

static void end_slowly(void *arg)
{
    struct libraries *l = arg;
    clock_sleep_s(0.02);
    atomic_fetch_add(&l->gone, 1);
}

static void use_library(void *arg, int thread, int n_threads)
{
    (void)thread, (void)n_threads;
    struct libraries *l = arg;
    pthread_setspecific(l->key, l);
    atomic_fetch_add(&l->begun, 1);
}

static void no_thread_outlives_its_team(void **state)
{
    (void)state;
    struct libraries l = {0};
    assert_int_equal(pthread_key_create(&l.key, end_slowly), 0);
    for (int n = 1; n <= MOST; n += n < 3 ? 1 : 5) {
        atomic_store(&l.begun, 0);
        atomic_store(&l.gone, 0);
        assert_ok(par_open(n, false));
        par_run(use_library, &l);
        par_close();
        assert_int_equal(atomic_load(&l.begun), n);
        assert_int_equal(atomic_load(&l.gone), n);
    }
    pthread_key_delete(l.key);
}

enum { ITEMS = 200, OFFERS = 50 };
struct offered {
    int done[MOST][ITEMS]; /* how often; no atomics, as above */
    int wrong, helped;
    bool slow;
};
/* Thread 0's, of which the others take over what they can. */
struct own_items {
    struct offered *o;
    int thread;
    pthread_t runner;
    atomic_int others;
};

/* By the clock of the machine; the tests' own only says that time has passed. */
static void really_sleep_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

static void do_item(void *arg, int item)
{
    struct own_items *own = arg;
    own->o->done[own->thread][item]++;
    if (!pthread_equal(pthread_self(), own->runner))
        atomic_fetch_add(&own->others, 1);
    if (own->o->slow)
        really_sleep_ms(1);
}

/* Every item is done once, and is done when par_items returns. */
static void offer_all(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    struct offered *o = arg;
    for (int i = 1; i <= OFFERS; i++) {
        struct own_items own = {.o = o, .thread = thread, .runner = pthread_self()};
        const int n = i == 1 ? 1 : (thread + 1) * i % ITEMS;
        memset(o->done[thread], 0, sizeof o->done[thread]);
        par_items(do_item, &own, n);
        for (int k = 0; k < ITEMS; k++)
            if (o->done[thread][k] != (k < n))
                o->wrong = 1;
        if (i % 3 == 0)
            par_barrier();
    }
}

static void items_are_done_once(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST; n += n < 3 ? 1 : 5) {
        struct offered o = {0};
        assert_ok(par_open(n, false));
        for (int job = 0; job < 20; job++)
            par_run(offer_all, &o);
        assert_int_equal(o.wrong, 0);
    }
    par_close();
}

static void offer_alone(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    struct offered *o = arg;
    struct own_items own = {.o = o, .thread = thread, .runner = pthread_self()};
    if (thread == 0) {
        clock_sleep_s(5e-3);
        really_sleep_ms(5); /* the others sleep at the barrier by now */
        par_items(do_item, &own, ITEMS);
        o->helped = atomic_load(&own.others);
    }
    par_barrier();
}

/* Where every thread has a CPU, one that waits helps, and is woken for it. */
static void who_waits_helps(void **state)
{
    (void)state;
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    if (CPU_COUNT(&allowed) < 2)
        skip();
    struct offered o = {.slow = true};
    assert_ok(par_open(2, false));
    for (int tries = 0; tries < 100 && o.helped == 0; tries++)
        par_run(offer_alone, &o);
    assert_in_range(o.helped, 1, ITEMS);
    par_close();
}

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;
    assert_non_null(tasks);
    for (struct dirent *e; (e = readdir(tasks)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(tasks);
    return n;
}

static int library_threads; /* and the first */

/* What was joined may stand in /proc a moment longer; what waits for work stands there for good. */
static void expect_no_team(void)
{
    for (int i = 0; i < 300 && count_threads() != library_threads; i++)
        clock_sleep_s(0.01);
    assert_int_equal(count_threads(), library_threads);
}

static void a_closed_team_has_no_threads(void **state)
{
    (void)state;
    expect_no_team();
    for (int n = 1; n <= MOST; n += n < 3 ? 1 : 5) {
        struct rounds r = {0};
        assert_ok(par_open(n, false));
        par_run(count_rounds, &r);
        assert_int_equal(count_threads(), library_threads + n);
        par_close();
        expect_no_team();
    }
}

/* A job that ends only after its caller has gone on. */
static void wait_for_caller(void *arg, int thread, int n_threads)
{
    (void)thread, (void)n_threads;
    while (!atomic_load((atomic_bool *)arg))
        sched_yield();
}

static void the_caller_goes_on_while_a_job_runs(void **state)
{
    (void)state;
    atomic_bool gone_on = false;
    par_start(wait_for_caller, &gone_on);
    assert_false(par_done());
    assert_false(par_wait_s(0));
    atomic_store(&gone_on, true);
    par_wait();
    assert_true(par_done());
    par_close();
}

static void note_processors(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    sched_getaffinity(0, sizeof(cpu_set_t), (cpu_set_t *)arg + thread);
}

static void a_full_team_is_pinned_and_a_smaller_one_is_free(void **state)
{
    (void)state;
    cpu_set_t allowed, all, *own = calloc(CPU_SETSIZE, sizeof *own);
    assert_non_null(own);
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int cpus = CPU_COUNT(&allowed);
    for (int n = cpus; n > 0 && n >= cpus - 1; n--) {
        assert_ok(par_open(n, true));
        par_run(note_processors, own);
        CPU_ZERO(&all);
        for (int i = 0; i < n; i++) {
            assert_int_equal(CPU_COUNT(&own[i]), n == cpus ? 1 : cpus);
            CPU_OR(&all, &all, &own[i]);
        }
        assert_true(CPU_EQUAL(&all, &allowed));
    }
    assert_ok(par_open(0, false));
    par_run(note_processors, own);
    assert_true(CPU_EQUAL(&own[0], &allowed));
    par_close();
    free(own);
}

static void splits_cover_everything_once(void **state)
{
    (void)state;
    for (int n = 0; n < 40; n++)
        for (int threads = 1; threads < 9; threads++) {
            int at = 0;
            for (int t = 0; t < threads; t++) {
                int first, last;
                par_split(n, t, threads, &first, &last);
                assert_int_equal(first, at);
                assert_true(last - first <= n / threads + 1);
                at = last;
            }
            assert_int_equal(at, n);
        }
}

int main(void)
{
    library_threads = count_threads();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_holds_all_threads),
        cmocka_unit_test(no_thread_outlives_its_team),
        cmocka_unit_test(items_are_done_once),
        cmocka_unit_test(who_waits_helps),
        cmocka_unit_test(a_closed_team_has_no_threads),
        cmocka_unit_test(the_caller_goes_on_while_a_job_runs),
        cmocka_unit_test(a_full_team_is_pinned_and_a_smaller_one_is_free),
        cmocka_unit_test(splits_cover_everything_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
