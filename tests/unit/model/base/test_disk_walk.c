/* Arrays in files: what a walk does to them is there in the next, wherever parts end. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "model/base/disk_walk.h"

#include <sys/resource.h>
#include <sys/mman.h>

enum { N = 3000001, PARTS = 20 };

static const size_t SIZES[] = {4, 2};
static const size_t ENDS[PARTS] = {1000,    1001,    200000,  200003,  300000,  500000,  700001,
                                   800000,  1000000, 1100000, 1300000, 1400000, 1500000, 1600000,
                                   1800000, 2000000, 2200000, 2500000, 2700000, N};

static size_t pages_in_memory(const char *data, size_t bytes)
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

static int new_walk(struct disk_walk **w, const char *folder, const bool *kept)
{
    const struct disk_walk_config c = {.what = "test",
                                       .folder = folder,
                                       .n_arrays = 2,
                                       .sizes = SIZES,
                                       .n_parts = PARTS,
                                       .ends = ENDS,
                                       .kept = kept};
    return disk_walk_new(w, &c);
}

/* Pages of x that stay: of kept parts, and where two parts meet. */
static size_t pages_that_stay(const bool *kept)
{
    size_t n = 0;
    for (size_t page = 0; page * 4096 < N * sizeof(uint32_t); page++) {
        int first = 0, last;
        while (ENDS[first] * sizeof(uint32_t) <= page * 4096)
            first++;
        for (last = first; last + 1 < PARTS && ENDS[last] * sizeof(uint32_t) < (page + 1) * 4096;)
            last++;
        n += first != last || kept[first];
    }
    return n;
}

/* x = 2 x + i, y = y + x; three times, then a walk that changes nothing. */
static void check_walks(const bool *kept)
{
    struct scratch s;
    struct disk_walk *w;
    scratch_open(&s);
    assert_ok(new_walk(&w, s.folder, kept));
    uint32_t *x = disk_walk_array(w, 0);
    uint16_t *y = disk_walk_array(w, 1);
    const size_t stay = pages_that_stay(kept);
    size_t most = 0;
    for (int round = 0; round < 4; round++) {
        disk_walk_begin(w, ~0U, round < 3 ? ~0U : 0);
        for (int part = 0; part < PARTS; part++) {
            disk_walk_enter(w, part);
            for (size_t i = part == 0 ? 0 : ENDS[part - 1]; i < ENDS[part]; i++) {
                if (round == 3) {
                    assert_int_equal(x[i], 7 * (uint32_t)i);
                    continue;
                }
                x[i] = 2 * x[i] + (uint32_t)i;
                y[i] = (uint16_t)(y[i] + x[i]);
            }
            const size_t now = pages_in_memory((char *)x, N * sizeof *x);
            most = now > most ? now : most;
            disk_walk_leave(w, part);
        }
        assert_ok(disk_walk_end(w));
        assert_int_equal(pages_in_memory((char *)x, N * sizeof *x), stay);
    }
    if (stay < N * sizeof *x / 4096)
        assert_in_range(most - stay, 100, N * sizeof *x / 4096 / 2);
    uint32_t *got = mem_array(N, sizeof *got);
    uint16_t *half = mem_array(N, sizeof *half);
    assert_ok(disk_walk_read(w, 0, got, 0, N * sizeof *got));
    assert_ok(disk_walk_read(w, 1, half, 2, (N - 1) * sizeof *half));
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(got[i], 7 * i);
        assert_int_equal(i == 0 ? 0 : half[i - 1], (uint16_t)(11 * i));
    }
    /* What is written between walks is in the next. */
    for (uint32_t i = 0; i < N; i++)
        got[i] = ~i;
    assert_ok(disk_walk_write(w, 0, got + 5, 4 * 5, 4 * (N - 6)));
    disk_walk_begin(w, ~0U, 0);
    for (int part = 0; part < PARTS; part++) {
        disk_walk_enter(w, part);
        for (uint32_t i = part == 0 ? 0 : (uint32_t)ENDS[part - 1]; i < ENDS[part]; i++)
            if (x[i] != (i < 5 || i == N - 1 ? 7 * i : ~i))
                fail_msg("element %u is %u", i, x[i]);
        disk_walk_leave(w, part);
    }
    assert_ok(disk_walk_end(w));
    mem_free(got);
    mem_free(half);
    disk_walk_free(w);
    scratch_close(&s);
}

static void walks_add_up(void **state)
{
    bool none[PARTS] = {0}, some[PARTS] = {0}, all[PARTS];
    (void)state;
    check_walks(none);
    for (int i = 0; i < PARTS; i += 3)
        some[i] = true;
    check_walks(some);
    memset(all, true, sizeof all);
    check_walks(all);
}

static void a_full_disk_is_said_and_stays_said(void **state)
{
    (void)state;
    struct scratch s;
    struct disk_walk *w;
    struct rlimit before, limit;
    scratch_open(&s);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){.rlim_cur = 4 << 20, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_fails(new_walk(&w, s.folder, NULL), ERR_IO, "no room for");
    setrlimit(RLIMIT_FSIZE, &before);
    assert_ok(new_walk(&w, s.folder, NULL));
    setrlimit(RLIMIT_FSIZE, &limit);
    disk_walk_begin(w, ~0U, ~0U);
    for (int part = 0; part < PARTS; part++) {
        disk_walk_enter(w, part);
        ((uint32_t *)disk_walk_array(w, 0))[ENDS[part] - 1] = 5;
        disk_walk_leave(w, part);
    }
    const int rc = disk_walk_end(w);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_fails(rc, ERR_IO, "cannot write a working file in ");
    uint32_t x;
    assert_fails(disk_walk_read(w, 0, &x, 0, 4), ERR_IO, "cannot write a working file in ");
    disk_walk_free(w);
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(walks_add_up),
                                       cmocka_unit_test(a_full_disk_is_said_and_stays_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
