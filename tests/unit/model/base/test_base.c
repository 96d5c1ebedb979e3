#include "tests/lib/test.h"

#include "model/base/buf.h"
#include "model/base/clock.h"
#include "model/base/file.h"
#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/base/rng.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void errors_wrap_and_keep_their_code(void **state)
{
    (void)state;
    assert_int_equal(err_set(ERR_RANGE, "top_p is %g, must be 0 to 1", 2.0), ERR_RANGE);
    assert_int_equal(err_wrap("line %d", 3), ERR_RANGE);
    assert_string_equal(err_text(), "line 3: top_p is 2, must be 0 to 1");
    assert_int_equal(err_set(ERR_FORMAT, "again: %s", err_text()), ERR_FORMAT);
    assert_string_equal(err_text(), "again: line 3: top_p is 2, must be 0 to 1");
    char long_name[3000];
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    err_set(ERR_IO, "%s", long_name);
    err_wrap("%s", long_name);
    assert_true(strlen(err_text()) < 1024);
}

static void memory_is_zero_aligned_and_counted(void **state)
{
    (void)state;
    uint64_t before = mem_count();
    char *p = mem_alloc(100);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % MEM_ALIGN, 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(p[i], 0);
    p[99] = 7;
    p = mem_grow(p, 100, 5000);
    assert_int_equal(p[99], 7);
    assert_int_equal(p[4999], 0);
    mem_free(p);
    assert_int_equal(mem_count() - before, 2);
    assert_null(mem_array(SIZE_MAX / 2, 4));
    assert_int_equal(err_last(), ERR_NOMEM);
    mem_fail_at(2);
    p = mem_alloc(1);
    assert_non_null(p);
    assert_null(mem_alloc(1));
    mem_fail_at(0);
    mem_free(p);
}

static void arena_counts_then_carves_the_same(void **state)
{
    (void)state;
    struct arena size = {0};
    arena_take(&size, 10);
    arena_take(&size, 100);
    char *block = mem_alloc(size.used);
    struct arena a = {.base = block};
    assert_ptr_equal(arena_take(&a, 10), block);
    assert_ptr_equal(arena_take(&a, 100), block + 64);
    assert_int_equal(a.used, size.used);
    mem_free(block);
}

/* A full disk takes the first half of a line. */
static void what_cannot_be_appended_is_not_there(void **state)
{
    (void)state;
    char path[] = "/tmp/prattle-append-XXXXXX";
    struct rlimit old, tight = {15, RLIM_INFINITY};
    struct buf b = {0};
    close(mkstemp(path));
    assert_ok(file_append(path, "0123456789", 10));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    int rc = file_append(path, "0123456789", 10);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(rc, ERR_IO);
    assert_ok(file_append(path, "ab", 2));
    assert_ok(file_read_all(&b, path, 100));
    assert_string_equal(buf_text(&b), "0123456789ab");
    buf_release(&b);
    unlink(path);
}

static void a_failed_append_changes_nothing(void **state)
{
    (void)state;
    struct buf b = {0};
    assert_string_equal(buf_text(&b), "");
    for (int i = 0; i < 1000; i++)
        assert_ok(buf_printf(&b, "%d,", i % 10));
    assert_int_equal(b.n, 2000);
    mem_fail_at(1);
    assert_int_equal(buf_reserve(&b, 1 << 20), ERR_NOMEM);
    mem_fail_at(0);
    assert_int_equal(b.n, 2000);
    assert_int_equal(strlen(b.data), 2000);
    assert_int_equal(buf_reserve(&b, SIZE_MAX - 1), ERR_NOMEM);
    buf_release(&b);
}

/* Every binary16 value, and the neighbourhood of every tie. */
static void halves_round_to_nearest_even(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = half_to_f32((uint16_t)h);
        bool nan = (h & 0x7fff) > 0x7c00;
        assert_int_equal(isnan(f) != 0, nan);
        if (nan) {
            assert_true((half_from_f32(f) & 0x7fff) > 0x7c00);
            continue;
        }
        double value = ldexp((h & 0x3ff) + ((h & 0x7c00) != 0 ? 1024 : 0),
                             (int)((h >> 10 & 31) == 0 ? 1 : h >> 10 & 31) - 25);
        if ((h & 0x7fff) != 0x7c00)
            assert_true((double)fabsf(f) == value);
        assert_int_equal(half_from_f32(f), h);
        if ((h & 0x7fff) >= 0x7bff)
            continue;
        float next = half_to_f32((uint16_t)(h + 1)), tie = (f + next) / 2;
        assert_int_equal(half_from_f32(tie), h % 2 == 0 ? h : h + 1);
        assert_int_equal(half_from_f32(nextafterf(tie, f)), h);
        assert_int_equal(half_from_f32(nextafterf(tie, next)), h + 1);
    }
    assert_int_equal(half_from_f32(65519.996f), 0x7bff);
    assert_int_equal(half_from_f32(65520.0f), 0x7c00);
    assert_int_equal(half_from_f32(-1e30f), 0xfc00);
    assert_int_equal(half_from_f32(1e-30f), 0);
    assert_int_equal(bf16_from_f32(1.00390625f), 0x3f80); /* a tie, to even */
    assert_int_equal(bf16_from_f32(1.01171875f), 0x3f82);
    assert_true(isnan(bf16_to_f32(bf16_from_f32(NAN))));
}

/* Known answers of Random123's philox4x32-10. */
static void philox_gives_the_published_words(void **state)
{
    (void)state;
    uint32_t w[4];
    rng_words(w, 0, 0, 0);
    const uint32_t zero[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    assert_memory_equal(w, zero, sizeof w);
    rng_words(w, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    const uint32_t ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    assert_memory_equal(w, ones, sizeof w);
    rng_words(w, 0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88);
    const uint32_t pi[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    assert_memory_equal(w, pi, sizeof w);
}

static void read_back(const char *path, const char *text)
{
    struct buf b = {0};
    assert_ok(file_read_all(&b, path, 1000));
    assert_string_equal(buf_text(&b), text);
    buf_release(&b);
}

static void writing_is_all_or_nothing(void **state)
{
    (void)state;
    char folder[] = "/tmp/prattle-base-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *path = file_join(folder, "a");
    struct file_writer w;
    assert_ok(file_create(&w, path, false));
    assert_ok(file_write(&w, "first", 5));
    assert_false(file_exists(path));
    assert_ok(file_commit(&w));
    read_back(path, "first");
    assert_int_equal(file_create(&w, path, false), ERR_EXISTS);
    assert_ok(file_create(&w, path, true));
    assert_ok(file_write(&w, "second", 6));
    file_abandon(&w);
    read_back(path, "first");
    assert_ok(file_create(&w, path, true));
    assert_ok(file_write(&w, "third", 5));
    assert_ok(file_commit(&w));
    read_back(path, "third");

    struct file f;
    char bytes[8];
    assert_ok(file_open(&f, path));
    assert_int_equal(file_read_at(&f, bytes, 3, 8), ERR_FORMAT);
    assert_non_null(strstr(err_text(), "ends at byte 5, expected 11"));
    file_close(&f);
    assert_int_equal(file_open(&f, folder), ERR_FORMAT);
    assert_non_null(strstr(err_text(), "is a folder"));
    assert_int_equal(file_open(&f, "/dev/zero"), ERR_FORMAT);
    char *fifo = file_join(folder, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(file_open(&f, fifo), ERR_FORMAT);
    char *loop = file_join(folder, "loop");
    assert_int_equal(symlink(loop, loop), 0);
    assert_int_equal(file_open(&f, loop), ERR_IO);
    assert_int_equal(file_open(&f, "/nowhere/\033[31mx"), ERR_MISSING);
    assert_null(strchr(err_text(), '\033'));
    char *deep = file_join(folder, "x/y/z");
    assert_ok(file_make_folder(deep));
    assert_true(file_is_folder(deep));
    assert_ok(file_make_folder(deep));
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    mem_free(path);
    mem_free(fifo);
    mem_free(loop);
    mem_free(deep);
}

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

static void shown_text_is_cut_at_a_character(void **state)
{
    (void)state;
    char out[64], wide[301];
    for (int i = 0; i < 300; i += 3)
        memcpy(wide + i, "\xe4\xb8\xad", 4);
    assert_string_equal(file_show(out, 8, "1234567"), "1234567");
    assert_string_equal(file_show(out, 8, "12345678"), "1234...");
    assert_string_equal(file_show(out, 9, wide), "\xe4\xb8\xad...");
    assert_string_equal(file_show(out, sizeof out, "a\033\xff"), "a\\x1b\\xff");
    file_show(out, 56, wide);
    assert_string_equal(out + 39, "... (300 bytes)");
    assert_memory_equal(out, wide, 39);
    const char *a = file_quote("a"), *b = file_quote("b");
    assert_string_equal(a, "a");
    assert_string_equal(b, "b");
    assert_true(strlen(file_quote(wide)) <= 120);
    char *visible = file_visible("a\n");
    assert_string_equal(visible, "a\\x0a");
    mem_free(visible);
}

static void work_in_parts(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    const double *work_s = arg;
    assert_int_equal(profile_set(PART_ACTIVATION), PART_REST);
    for (double end = clock_s() + work_s[thread]; clock_s() < end;)
        ;
    assert_int_equal(profile_set(PART_LOSS), PART_ACTIVATION);
    par_barrier();
    assert_int_equal(profile_set(PART_REST), PART_LOSS);
}

static void a_job_in_parts(void **state)
{
    (void)state;
    double work_s[] = {0.01, 0.03}, seconds[N_PARTS], all = 0;
    assert_ok(par_open(2, true));
    assert_ok(profile_start(par_threads()));
    double begun = clock_s();
    par_run(work_in_parts, work_s);
    double wall_s = clock_s() - begun;
    profile_stop(seconds);
    for (int i = 0; i < N_PARTS; i++)
        all += seconds[i];
    assert_true(all <= 2 * wall_s);
    /* Threads may come late, but each does its work, and the one that is done waits. */
    assert_true(seconds[PART_ACTIVATION] >= 0.04);
    assert_true(seconds[PART_WAITS] > 0);
    assert_true(seconds[PART_ATTENTION] == 0);
    assert_int_equal(profile_set(PART_ACTIVATION), PART_REST);
    assert_int_equal(profile_set(PART_ACTIVATION), PART_REST);
    par_close();
}

static void the_host_goes_on_while_a_job_runs(void **state)
{
    (void)state;
    struct rounds r = {0};
    par_start(count_rounds, &r);
    par_wait();
    assert_true(par_done());
    assert_int_equal(r.wrong, 0);
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

/* The base directory specification: a variable that is an absolute path, else below home. */
static void xdg_folders(void **state)
{
    (void)state;
    static const struct {
        const char *variable, *home, *path;
    } cases[] = {
        {"/var/s", "/home/u", "/var/s/prattle/x"},
        {"/var/s", NULL, "/var/s/prattle/x"},
        {NULL, "/home/u", "/home/u/.local/state/prattle/x"},
        {"", "/home/u", "/home/u/.local/state/prattle/x"},
        {"relative", "/home/u", "/home/u/.local/state/prattle/x"},
        {NULL, NULL, NULL},
        {"relative", "", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cases[i].home == NULL ? unsetenv("HOME") : setenv("HOME", cases[i].home, 1);
        cases[i].variable == NULL ? unsetenv("XDG_STATE_HOME")
                                  : setenv("XDG_STATE_HOME", cases[i].variable, 1);
        char *path = file_home(HOME_STATE, "x");
        if (cases[i].path == NULL) {
            assert_null(path);
            assert_int_equal(err_last(), ERR_MISSING);
            assert_string_equal(err_text(), "neither HOME nor XDG_STATE_HOME is set");
        } else {
            assert_string_equal(path, cases[i].path);
        }
        mem_free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_wrap_and_keep_their_code),
        cmocka_unit_test(memory_is_zero_aligned_and_counted),
        cmocka_unit_test(arena_counts_then_carves_the_same),
        cmocka_unit_test(what_cannot_be_appended_is_not_there),
        cmocka_unit_test(a_failed_append_changes_nothing),
        cmocka_unit_test(halves_round_to_nearest_even),
        cmocka_unit_test(philox_gives_the_published_words),
        cmocka_unit_test(writing_is_all_or_nothing),
        cmocka_unit_test(a_barrier_holds_all_threads),
        cmocka_unit_test(shown_text_is_cut_at_a_character),
        cmocka_unit_test(no_thread_outlives_its_team),
        cmocka_unit_test(a_job_in_parts),
        cmocka_unit_test(the_host_goes_on_while_a_job_runs),
        cmocka_unit_test(a_full_team_is_pinned_and_a_smaller_one_is_free),
        cmocka_unit_test(splits_cover_everything_once),
        cmocka_unit_test(xdg_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
