/* An array in sections, of which one at a time is in memory: what was done to them is there again,
 * wherever they end, and a walk of smaller parts sees and changes the same. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "model/base/disk_walk.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = 1500001, SECTIONS = 9, PARTS = 14 };

/* In elements; some end within a page, some within the one in which they begin. */
static const size_t ENDS[SECTIONS] = {100,    1100,   300000,  300007, 600000,
                                      900001, 900002, 1200000, N};
static const size_t PART_ENDS[PARTS] = {100,    1100,   150000, 300000, 300007,  450000,  600000,
                                        700000, 900001, 900002, 950000, 1200000, 1300000, N};

struct array {
    struct scratch s;
    struct disk_queue *queue;
    struct disk_array *a;
    uint32_t *x;
};

static void open_array(struct array *t, const bool *kept)
{
    size_t ends[SECTIONS];
    for (int i = 0; i < SECTIONS; i++)
        ends[i] = ENDS[i] * sizeof *t->x;
    scratch_open(&t->s);
    assert_ok(disk_queue_open(&t->queue));
    const struct disk_array_config c = {"test", t->s.folder, t->queue, SECTIONS, ends, kept};
    assert_ok(disk_array_new(&t->a, &c));
    t->x = disk_array_data(t->a);
}

static void close_array(struct array *t)
{
    disk_array_free(t->a);
    disk_queue_close(t->queue);
    scratch_close(&t->s);
}

static size_t pages_in_memory(const void *data, size_t bytes)
{
    const size_t n = (bytes + 4095) / 4096;
    unsigned char *there = mem_alloc(n);
    size_t found = 0;
    assert_int_equal(mincore((void *)data, bytes, there), 0);
    for (size_t i = 0; i < n; i++)
        found += there[i] & 1;
    mem_free(there);
    return found;
}

/* x = 2 x + i in all sections, forwards or backwards; the next is fetched before. */
static void double_all(struct array *t, bool back)
{
    for (int k = 0; k < SECTIONS; k++) {
        const int i = back ? SECTIONS - 1 - k : k, next = back ? i - 1 : i + 1;
        assert_ok(disk_array_enter(t->a, i));
        if (next >= 0 && next < SECTIONS)
            disk_array_fetch(t->a, next);
        for (size_t at = i == 0 ? 0 : ENDS[i - 1]; at < ENDS[i]; at++)
            t->x[at] = 2 * t->x[at] + (uint32_t)at;
        disk_array_leave(t->a, i, true);
    }
}

/* Sections of several huge pages, which end within one: who touches all of one takes no memory of
 * the other. */
static void large_sections_take_their_own_memory(void **state)
{
    enum { LARGE = (8 << 20) + 12345 * 4, PAGE = 4096 };
    static const size_t ends[] = {LARGE, 2 * (size_t)LARGE, 3 * (size_t)LARGE};
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        const bool keeps[] = {false, false, kept != 0};
        struct scratch s;
        struct disk_queue *queue;
        struct disk_array *a;
        scratch_open(&s);
        assert_ok(disk_queue_open(&queue));
        const struct disk_array_config c = {"test", s.folder, queue, 3, ends, keeps};
        assert_ok(disk_array_new(&a, &c));
        char *x = disk_array_data(a);
        assert_ok(disk_array_enter_zero(a, 1));
        memset(x + LARGE, 1, LARGE);
        assert_in_range(pages_in_memory(x, 3 * (size_t)LARGE / PAGE * PAGE), LARGE / PAGE,
                        LARGE / PAGE + 2);
        disk_array_leave(a, 1, true);
        assert_ok(disk_array_flush(a));
        assert_in_range(pages_in_memory(x, 3 * (size_t)LARGE / PAGE * PAGE), 0, 2);
        assert_ok(disk_array_enter(a, 1));
        for (size_t i = 0; i < LARGE; i++)
            assert_true(x[LARGE + i] == 1);
        disk_array_free(a);
        disk_queue_close(queue);
        scratch_close(&s);
    }
}

static void check_all(struct array *t, uint32_t times)
{
    uint32_t *got = mem_array(N, sizeof *got);
    assert_fails(disk_array_read(t->a, got, (N - 1) * sizeof *got, 2 * sizeof *got), ERR_RANGE,
                 "are not in an array of");
    assert_ok(disk_array_read(t->a, got, 0, 77 * sizeof *got));
    assert_ok(disk_array_read(t->a, got + 77, 77 * sizeof *got, (N - 77) * sizeof *got));
    for (uint32_t i = 0; i < N; i++)
        if (got[i] != times * i)
            assert_int_equal(got[i], times * i);
    mem_free(got);
}

static void sections_come_and_go(void **state)
{
    (void)state;
    bool some[SECTIONS] = {[0] = true, [4] = true, [8] = true};
    for (int kept = 0; kept < 2; kept++) {
        struct array t;
        open_array(&t, kept ? some : NULL);
        double_all(&t, false);
        double_all(&t, true);
        double_all(&t, true);
        check_all(&t, 7);
        /* What stays: pages with the end of a section, and what is kept. */
        const size_t there = pages_in_memory(t.x, N * sizeof *t.x);
        assert_in_range(there, kept ? 590 : 3, kept ? 900 : SECTIONS);
        /* What is not changed stays as it was; zeros take its place where they are asked for. */
        assert_ok(disk_array_enter(t.a, 5));
        t.x[700000] = 5;
        disk_array_leave(t.a, 5, false);
        check_all(&t, 7);
        for (int i = 0; i < SECTIONS; i++) {
            assert_ok(disk_array_enter_zero(t.a, i));
            disk_array_leave(t.a, i, true);
        }
        check_all(&t, 0);
        close_array(&t);
    }
}

static void kept_sections_need_no_file(void **state)
{
    (void)state;
    struct array t;
    bool all[SECTIONS];
    memset(all, 1, sizeof all);
    open_array(&t, all);
    assert_int_equal(disk_array_file(t.a)->bytes, 0);
    double_all(&t, false);
    check_all(&t, 1);
    close_array(&t);
}

static void walks_go_through_sections(void **state)
{
    (void)state;
    bool some[SECTIONS] = {[0] = true, [4] = true};
    struct array t;
    struct disk_walk *w;
    open_array(&t, some);
    double_all(&t, false);
    const size_t size = sizeof *t.x;
    const struct disk_walk_config own = {.what = "own",
                                         .folder = t.s.folder,
                                         .n_arrays = 1,
                                         .sizes = &size,
                                         .n_parts = PARTS,
                                         .ends = PART_ENDS};
    assert_ok(disk_walk_new(&w, &own));
    assert_int_equal(disk_walk_join(w, t.a, sizeof *t.x), 1);
    uint32_t *y = disk_walk_array(w, 0);
    /* Both; then x alone, which does not change; then both, and y does not. */
    for (int round = 0; round < 3; round++) {
        disk_walk_begin(w, round == 1 ? 2 : 3, round == 0 ? 3 : round == 1 ? 0 : 2);
        for (int part = 0; part < PARTS; part++) {
            disk_walk_enter(w, part);
            for (size_t i = part == 0 ? 0 : PART_ENDS[part - 1]; i < PART_ENDS[part]; i++) {
                if (round != 1)
                    t.x[i] = 2 * t.x[i] + (uint32_t)i;
                if (round == 0)
                    y[i] = 3 * (uint32_t)i;
                if (round == 2 && y[i] != 3 * (uint32_t)i)
                    assert_int_equal(y[i], 3 * (uint32_t)i);
            }
            disk_walk_leave(w, part);
        }
        assert_ok(disk_walk_end(w));
    }
    check_all(&t, 7);
    double_all(&t, false);
    check_all(&t, 15);
    disk_walk_free(w);
    close_array(&t);
}

/* A file cut short by another program, and no room for it: one error each, that stays. */
static void faults_are_said(void **state)
{
    (void)state;
    struct array t;
    open_array(&t, NULL);
    double_all(&t, false);
    assert_ok(disk_array_flush(t.a));
    assert_int_equal(ftruncate(disk_array_file(t.a)->fd, 8192), 0);
    assert_fails(disk_array_enter(t.a, 4), ERR_FORMAT, "the file is truncated");
    assert_fails(disk_array_enter(t.a, 2), ERR_FORMAT, "the file is truncated");
    close_array(&t);

    const struct rlimit little = {65536, RLIM_INFINITY};
    struct rlimit before;
    const size_t end = 1 << 20;
    scratch_open(&t.s);
    assert_ok(disk_queue_open(&t.queue));
    const struct disk_array_config c = {"weights", t.s.folder, t.queue, 1, &end, NULL};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    assert_fails(disk_array_new(&t.a, &c), ERR_IO, "cannot keep the weights on disk: no room for");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    close_array(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_come_and_go), cmocka_unit_test(kept_sections_need_no_file),
        cmocka_unit_test(walks_go_through_sections), cmocka_unit_test(faults_are_said),
        cmocka_unit_test(large_sections_take_their_own_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
