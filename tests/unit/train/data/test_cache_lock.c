/* The lock of a cache entry: one process has it, whatever is swept meanwhile. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "train/data/cache_lock.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shared {
    atomic_int holders, most, taken;
    atomic_bool stop;
};

static void take_turns(struct shared *s, const char *prefix)
{
    while (!atomic_load(&s->stop)) {
        struct cache_lock l;
        if (cache_lock_open(&l, prefix, NULL) != 0)
            _exit(1);
        const int now = atomic_fetch_add(&s->holders, 1) + 1;
        for (int most = atomic_load(&s->most);
             now > most && !atomic_compare_exchange_weak(&s->most, &most, now);)
            continue;
        atomic_fetch_add(&s->taken, 1);
        sched_yield();
        atomic_fetch_sub(&s->holders, 1);
        cache_lock_close(&l);
    }
    _exit(0);
}

static void sweep(struct shared *s, const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (!atomic_load(&s->stop))
        cache_lock_sweep(fd, "set.lock");
    _exit(fd < 0);
}

static void one_at_a_time(void **state)
{
    (void)state;
    enum { TAKERS = 2, PROCESSES = TAKERS + 1, TURNS = 1500, MOST_S = 20 };
    struct shared *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const char *folder = scratch_path(scratch_of_process(), "locks"),
               *prefix = scratch_path(scratch_of_process(), "locks/set");
    pid_t children[PROCESSES];
    assert_true(s != MAP_FAILED);
    assert_int_equal(mkdir(folder, 0777), 0);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0 && i < TAKERS)
            take_turns(s, prefix);
        if (children[i] == 0)
            sweep(s, folder);
    }
    const time_t end = time(NULL) + MOST_S;
    while (atomic_load(&s->taken) < TURNS && time(NULL) < end)
        usleep(1000);
    atomic_store(&s->stop, true);
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(atomic_load(&s->most), 1);
    munmap(s, sizeof *s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_at_a_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
