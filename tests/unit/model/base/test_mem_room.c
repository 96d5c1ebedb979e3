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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_least_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
