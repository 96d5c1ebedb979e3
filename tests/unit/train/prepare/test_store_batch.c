/* Documents that are wanted in any order: each as it was stored, and short ones with few reads. */
#include "tests/lib/data_set.h"

#include "train/data/permutation.h"
#include "train/prepare/store_batch.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* More than a batch has, of documents and, of those that it may hold, of bytes. Very long ones it
 * never holds. */
enum { SHORT = 150000, LONG = 60, LONG_BYTES = 200000, VERY_LONG_BYTES = 300000 };

static struct store store;
static uint64_t n_reads;

/* In place of the C library's. */
ssize_t pread(int fd, void *dst, size_t n, off_t at)
{
    static ssize_t (*next)(int, void *, size_t, off_t);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "pread");
    n_reads++;
    return next(fd, dst, n, at);
}

static size_t bytes_of(uint64_t i, int every)
{
    return every == 0 || i % (uint64_t)every != 0 ? (size_t)(i % 20)
           : i % 4 == 0                           ? VERY_LONG_BYTES
                                                  : LONG_BYTES;
}

static char byte_at(uint64_t i, size_t k)
{
    return (char)(i * 7 + k * 31 + k / 251);
}

/* every: one of so many is long; 0: none. */
static void fill_store(uint64_t n, int every)
{
    struct store_place place;
    struct store_mark mark;
    char bytes[VERY_LONG_BYTES], *folder = data_path("store");
    assert_ok(store_open(&store, &place, folder, "test", 0));
    for (uint64_t i = 0; i < n; i++) {
        const size_t size = bytes_of(i, every);
        for (size_t k = 0; k < size; k++)
            bytes[k] = byte_at(i, k);
        assert_ok(store_add(&store, bytes, size));
        store_mark_begin(&mark);
        assert_ok(store_end(&store, &mark));
    }
    assert_ok(store_save(&store, &place));
    mem_free(folder);
}

static void expect_document(struct store_batch *b, size_t k, uint64_t i, int every)
{
    const char *out;
    size_t done = 0, n = 1;
    for (; n > 0; done += n) {
        assert_ok(store_batch_look(b, k, done, &out, &n));
        for (size_t j = 0; j < n; j++)
            if (out[j] != byte_at(i, done + j))
                fail_msg("byte %zu of document %llu is wrong", done + j, (unsigned long long)i);
    }
    assert_int_equal(done, bytes_of(i, every));
}

static void take_all(int every)
{
    struct permutation order;
    struct store_batch b;
    uint64_t first = 0;
    permutation_init(&order, store.n, 3, 0);
    assert_ok(store_batch_open(&b, &store));
    while (first < store.n) {
        for (uint64_t i = first; i < store.n && !store_batch_is_full(&b); i++)
            store_batch_add(&b, permutation_at(&order, i));
        assert_ok(store_batch_read(&b, NULL, "", 0, 0));
        for (size_t k = 0; k < b.n; k++)
            expect_document(&b, k, permutation_at(&order, first + k), every);
        first += b.n;
        b.n = 0;
    }
    store_batch_close(&b);
    store_remove(&store);
}

static void short_ones_are_read_together(void **state)
{
    (void)state;
    fill_store(SHORT, 0);
    n_reads = 0;
    take_all(0);
    assert_true(n_reads > 0);
    assert_true(n_reads < 100);
}

static void long_ones_are_read_in_parts(void **state)
{
    (void)state;
    fill_store(LONG, 1);
    take_all(1);
    fill_store(SHORT / 10, SHORT / 10 / LONG);
    take_all(SHORT / 10 / LONG);
}

static void it_stops_between_two(void **state)
{
    (void)state;
    struct store_batch b;
    fill_store(LONG, 1);
    assert_ok(store_batch_open(&b, &store));
    store_batch_add(&b, 3);
    interrupt_raise();
    assert_int_equal(store_batch_read(&b, NULL, "", 0, 0), ERR_INTERRUPTED);
    interrupt_clear();
    assert_ok(store_batch_read(&b, NULL, "", 0, 0));
    expect_document(&b, 0, 3, 1);
    store_batch_close(&b);
    store_remove(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_ones_are_read_together),
        cmocka_unit_test(long_ones_are_read_in_parts),
        cmocka_unit_test(it_stops_between_two),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
