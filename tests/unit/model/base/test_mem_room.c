/* The memory that is left, by the files of a system that is made here. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "model/base/mem_room.h"

#include <sys/stat.h>

static struct scratch scratch;

static void put(const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", scratch_path(&scratch, name));
    for (char *at = path + strlen(scratch.folder) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    scratch_write(&scratch, name, text, strlen(text));
}

static uint64_t room(void)
{
    return mem_room_below(scratch.folder);
}

static void the_least_counts(void **state)
{
    (void)state;
    scratch_open(&scratch);
    assert_true(room() == UINT64_MAX);
    put("proc/meminfo", "MemTotal:  900 kB\nMemAvailable:     500 kB\n");
    assert_int_equal(room(), 500 * 1024);
    put("proc/self/cgroup", "4:memory:/a/b\n1:cpu:/x\n0::/c/d\n");
    assert_int_equal(room(), 500 * 1024);

    /* Version 1: files in the page cache go when memory is needed. */
    put("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "400000\n");
    put("sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "300000\n");
    put("sys/fs/cgroup/memory/a/b/memory.stat",
        "cache 9\ninactive_file 7\ntotal_inactive_file 50000\ntotal_active_file 30000\n");
    assert_int_equal(room(), 180000);

    /* Version 2, in a group that has no limit within one that has. */
    put("sys/fs/cgroup/c/d/memory.max", "max\n");
    put("sys/fs/cgroup/c/d/memory.current", "1\n");
    assert_int_equal(room(), 180000);
    put("sys/fs/cgroup/c/memory.max", "150000\n");
    put("sys/fs/cgroup/c/memory.current", "100000\n");
    assert_int_equal(room(), 50000);
    put("sys/fs/cgroup/c/memory.stat", "inactive_file 1000\nactive_file 2000\n");
    assert_int_equal(room(), 53000);
    put("sys/fs/cgroup/c/memory.max", "1000\n");
    assert_int_equal(room(), 0);
    scratch_close(&scratch);

    /* Here. */
    assert_in_range(mem_room_bytes(), 1, UINT64_MAX);
}

static void assert_limit(uint64_t memory, uint64_t swap, const char *owner)
{
    const struct mem_limit l = mem_limit_below(scratch.folder);
    assert_int_equal(l.memory, memory);
    assert_int_equal(l.swap, swap);
    assert_string_equal(l.owner, owner);
}

/* Whatever is in use. */
static void the_least_limit_counts(void **state)
{
    (void)state;
    scratch_open(&scratch);
    put("proc/meminfo", "MemTotal:  800 kB\nMemAvailable:     5 kB\nSwapTotal: 100 kB\n");
    assert_limit(800 * 1024, 100 * 1024, "this machine");
    put("proc/self/cgroup", "4:memory:/a/b\n1:cpu:/x\n0::/c/d\n");
    assert_limit(800 * 1024, 100 * 1024, "this machine");

    /* Version 2: in a group without a limit, in one that has it, in one that has more. */
    put("sys/fs/cgroup/c/d/memory.max", "max\n");
    put("sys/fs/cgroup/c/d/memory.swap.max", "30000\n");
    put("sys/fs/cgroup/c/memory.max", "600000\n");
    put("sys/fs/cgroup/c/memory.current", "599999\n");
    put("sys/fs/cgroup/memory.max", "700000\n");
    put("sys/fs/cgroup/memory.swap.max", "max\n");
    assert_limit(600000, 30000, "this control group");

    /* Version 1, whose limit of swap is one of both; none is a large number. */
    put("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/a/b/memory.memsw.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "500000\n");
    assert_limit(500000, 30000, "this control group");
    put("sys/fs/cgroup/memory/a/memory.memsw.limit_in_bytes", "520000\n");
    assert_limit(500000, 20000, "this control group");
    put("sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "500000\n");
    assert_limit(500000, 0, "this control group");

    /* A limit above what the system has is none. */
    put("proc/meminfo", "MemTotal:  100 kB\n");
    assert_limit(100 * 1024, 0, "this machine");
    scratch_close(&scratch);

    /* Here. */
    assert_in_range(mem_limit_find().memory, 1, UINT64_MAX >> 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_least_counts),
                                       cmocka_unit_test(the_least_limit_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
