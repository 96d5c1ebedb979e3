/* Repeated documents are found in any memory, in time that grows with their number. */
#include "tests/lib/data_set.h"

#include "model/base/rng.h"
#include "train/prepare/duplicates.h"
#include "train/prepare/sorter.h"

enum { DOCUMENTS = 3000, KINDS = 900 };

/* The same words, or some of them others, as `kind` and `variant` say. */
static void make_mark(struct store_mark *m, uint32_t kind, uint32_t variant)
{
    struct buf text = {0};
    for (uint32_t k = 0; k < 60; k++)
        assert_ok(buf_printf(&text, "%u.%u ", k % 20 == variant ? variant + 1 : kind, k));
    text_hash_begin(&m->hash);
    min_hash_begin(&m->near);
    text_hash_add(&m->hash, text.data, text.n);
    min_hash_add(&m->near, text.data, text.n);
    min_hash_end(&m->near);
    buf_release(&text);
}

static void fill_store(struct store *s, struct store_mark *marks)
{
    struct store_place place;
    char *path = data_path("store");
    assert_ok(store_open(s, &place, path, "key", sizeof *marks));
    for (int i = 0; i < DOCUMENTS; i++) {
        uint32_t w[4];
        rng_words(w, 1, 2, (uint64_t)i);
        make_mark(&marks[i], w[0] % KINDS, w[1] % 60);
        assert_ok(store_end(s, &marks[i]));
    }
    assert_ok(store_save(s, &place));
    mem_free(path);
}

/* As duplicates_find is meant, by comparing all with all. */
static void find_slowly(unsigned char *bits, const struct store_mark *marks, bool near)
{
    static uint64_t keys[DOCUMENTS];
    for (int band = 0; band < (near ? MIN_HASH_BANDS : 1); band++) {
        for (int i = 0; i < DOCUMENTS; i++)
            keys[i] = near ? min_hash_band(&marks[i].near, band) : marks[i].hash.sum[0];
        for (int i = 0; i < DOCUMENTS; i++) {
            int first = 0;
            while (first < i && (keys[first] != keys[i] || bits[first / 8] >> first % 8 & 1))
                first++;
            if (first < i && (!near || min_hash_likeness(&marks[i].near, &marks[first].near) >=
                                           DUPLICATES_LIKENESS))
                bits[i / 8] |= (unsigned char)(1 << i % 8);
        }
    }
}

static void any_memory_finds_the_same(void **state)
{
    (void)state;
    static const size_t memory[] = {DUPLICATES_MEMORY, 1 << 16, 1 << 12, 100};
    static struct store_mark marks[DOCUMENTS];
    struct store s;
    fill_store(&s, marks);
    for (int near = 0; near < 2; near++) {
        unsigned char expected[DOCUMENTS / 8 + 1] = {0};
        uint64_t count, wanted = 0;
        find_slowly(expected, marks, near);
        for (int i = 0; i < DOCUMENTS; i++)
            wanted += expected[i / 8] >> i % 8 & 1;
        assert_true(wanted > DOCUMENTS / 20);
        for (size_t k = 0; k < sizeof memory / sizeof *memory; k++) {
            unsigned char bits[DOCUMENTS / 8 + 1] = {0};
            assert_ok(duplicates_find(bits, &count, &s, near, memory[k], NULL));
            assert_int_equal(count, wanted);
            assert_memory_equal(bits, expected, sizeof bits);
        }
    }
    store_remove(&s);
}

/* Of 0 to many runs, of one word after the other; two are merged at once, and at the end seven. */
static void records_are_sorted(void **state)
{
    (void)state;
    static const int counts[] = {0, 1, 2, 5, 1000, 40000, 400000};
    assert_ok(file_make_folder(scratch_path(&data_scratch, "sorted")));
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int words = 2; words <= 3; words++) {
            struct sorter s;
            uint64_t record[3], before[3] = {0}, sum = 0;
            bool got;
            char *folder = data_path("sorted");
            assert_ok(sorter_open(&s, folder, words, counts[c] > 40000 ? 7 << 16 : 1 << 10));
            for (int i = 0; i < counts[c]; i++) {
                uint32_t w[4];
                rng_words(w, 3, 4, (uint64_t)i);
                const uint64_t one[] = {w[0] % 50, w[1] % 50, (uint64_t)i};
                assert_ok(sorter_add(&s, one));
                sum += one[0] * 50 + one[1];
            }
            assert_ok(sorter_finish(&s, NULL, ""));
            for (int i = 0; i < counts[c]; i++) {
                assert_ok(sorter_next(&s, record, &got));
                assert_true(got);
                int k = 0;
                while (k < words - 1 && record[k] == before[k])
                    k++;
                assert_true(record[k] >= before[k]);
                memcpy(before, record, sizeof before);
                sum -= record[0] * 50 + record[1];
            }
            assert_ok(sorter_next(&s, record, &got));
            assert_false(got);
            assert_int_equal(sum, 0);
            sorter_close(&s);
            assert_int_equal(rmdir(folder), 0); /* nothing else is in it */
            assert_ok(file_make_folder(folder));
            mem_free(folder);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_memory_finds_the_same),
        cmocka_unit_test(records_are_sorted),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
