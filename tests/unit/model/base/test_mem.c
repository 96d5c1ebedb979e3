/* Blocks are zeroed, aligned and counted; carving hands out what sizing counted. */
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "model/base/mem_use.h"

#include <sys/mman.h>

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
    p = mem_alloc_small(0);
    assert_non_null(p);
    mem_free(p);
    assert_int_equal(mem_count() - before, 3);
    mem_fail_at(2);
    p = mem_alloc_small(1);
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

/* How many pages of a block are in memory. */
static size_t resident(void *p, size_t bytes)
{
    unsigned char pages[3 * 512];
    size_t n = 0;
    assert_true(bytes / 4096 <= sizeof pages);
    assert_int_equal(mincore(p, bytes, pages), 0);
    for (size_t i = 0; i < bytes / 4096; i++)
        n += pages[i] & 1;
    return n;
}

static void a_part_is_zero_and_its_whole_huge_pages_go_back(void **state)
{
    (void)state;
    enum { HUGE = 3 };
    const size_t bytes = (HUGE + 1) * MEM_HUGE_PAGE;
    char *block = mem_map("test", bytes);
    assert_non_null(block);
    char *p = block + (MEM_HUGE_PAGE - (uintptr_t)block % MEM_HUGE_PAGE) % MEM_HUGE_PAGE;
    const struct {
        size_t first, last; /* of the part */
        size_t kept;        /* pages */
    } parts[] = {{MEM_HUGE_PAGE - 5, 2 * MEM_HUGE_PAGE + 7, (HUGE - 1) * 512},
                 {0, HUGE * MEM_HUGE_PAGE, 0},
                 {5, HUGE * MEM_HUGE_PAGE, 512},
                 {5, 9, HUGE * 512},
                 {5, MEM_HUGE_PAGE + 1, HUGE * 512}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memset(p, 1, HUGE * MEM_HUGE_PAGE);
        mem_clear_part(p + parts[i].first, parts[i].last - parts[i].first);
        assert_int_equal(resident(p, HUGE * MEM_HUGE_PAGE), parts[i].kept);
        for (size_t k = 0; k < HUGE * MEM_HUGE_PAGE; k++)
            if ((p[k] == 0) != (k >= parts[i].first && k < parts[i].last))
                fail_msg("part %zu: %d at %zu", i, p[k], k);
    }
    mem_unmap(block, bytes);
}

static size_t use_of(const char *what)
{
    struct mem_use u;
    mem_use_now(&u);
    assert_true(u.peak >= u.resident);
    for (int i = 0; i < u.n; i++)
        if (strcmp(u.blocks[i].what, what) == 0)
            return u.blocks[i].bytes;
    return SIZE_MAX;
}

/* A block counts by what of it was touched, blocks of one name together. */
static void mapped_blocks_are_told_apart(void **state)
{
    (void)state;
    enum { BYTES = 16 << 20, SLACK = 4 << 20 };
    char *a = mem_map("a test's", BYTES), *b = mem_map("a test's", BYTES);
    char *c = mem_map("another's", BYTES);
    assert_int_equal(use_of("a test's"), 0);
    memset(a, 1, BYTES);
    memset(b, 1, BYTES / 2);
    assert_in_range(use_of("a test's"), BYTES + BYTES / 2, BYTES + BYTES / 2 + SLACK);
    assert_int_equal(use_of("another's"), 0);
    mem_unmap(a, BYTES);
    assert_in_range(use_of("a test's"), BYTES / 2, BYTES / 2 + SLACK);
    mem_unmap(b, BYTES);
    mem_unmap(c, BYTES);
    assert_true(use_of("a test's") == SIZE_MAX && use_of("another's") == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zero_aligned_and_counted),
        cmocka_unit_test(arena_counts_then_carves_the_same),
        cmocka_unit_test(a_part_is_zero_and_its_whole_huge_pages_go_back),
        cmocka_unit_test(mapped_blocks_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
