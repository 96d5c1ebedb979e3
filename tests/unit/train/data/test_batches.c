/* Batches: permutations, windows, seeking, epochs, errors that
 * come up from the thread. */
#include "tests/lib/test.h"

#include "tests/lib/scratch.h"
#include "model/base/rng.h"
#include "train/data/batches.h"
#include "train/data/permutation.h"
#include "train/data/token_writer.h"
#include "train/step/step.h"

#include <fcntl.h>

static struct scratch scratch;
static struct dataset data;

enum { N = 1000, DOCUMENT = 37 };

/* Ids that are their own places, in documents of 37, 100 of them. */
static int setup(void **state)
{
    (void)state;
    scratch_open(&scratch);
    struct token_writer w;
    struct data_config c;
    struct dataset held_out; /* nothing, but it shares the files */
    assert_ok(token_writer_open(&w, scratch_path(&scratch, "ids"), N));
    for (token_id i = 0; i < N; i++) {
        assert_ok(token_writer_add(&w, &i, 1));
        if (i % DOCUMENT == DOCUMENT - 1)
            assert_ok(token_writer_end(&w));
    }
    assert_ok(token_writer_commit(&w));
    assert_ok(data_config_init(&c));
    mem_free(c.data);
    c.data = mem_strdup(scratch_path(&scratch, "ids"));
    c.validation_fraction = 0;
    assert_ok(dataset_open(&data, &held_out, &c, NULL, N, NULL));
    dataset_close(&held_out);
    data_config_release(&c);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    dataset_close(&data);
    scratch_close(&scratch);
    return 0;
}

static struct batches *open_batches(const struct dataset *d, int batch, int length, int stride,
                                    bool shuffle, uint64_t seed)
{
    struct batches *b = NULL;
    struct data_config c = {.stride = stride, .shuffle = shuffle, .seed = seed};
    assert_ok(batches_new(&b, d, &c, batch, length));
    return b;
}

/* Where the next n windows begin. */
static void take(struct batches *b, int batch, int length, int *starts, int n)
{
    const token_id *ids, *labels;
    for (int i = 0; i < n; i += batch) {
        assert_ok(batches_next(b, &ids, &labels));
        for (int k = 0; k < batch && i + k < n; k++)
            starts[i + k] = ids[k * length];
    }
}

static void permutations_are_bijections(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 7, 16, 17, 63, 64, 65, 999, 1024, 4097, 100003};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            struct permutation p;
            unsigned char *seen = mem_alloc(sizes[s]);
            permutation_init(&p, sizes[s], seed, 5);
            for (uint64_t i = 0; i < sizes[s]; i++) {
                uint64_t to = permutation_at(&p, i);
                assert_true(to < sizes[s]);
                assert_int_equal(seen[to], 0);
                seen[to] = 1;
            }
            mem_free(seen);
        }
}

static void permutations_reach_any_size(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {(uint64_t)1 << 40, ((uint64_t)1 << 62) + 1, UINT64_MAX};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct permutation p;
        permutation_init(&p, sizes[s], 1, 2);
        uint64_t a = permutation_at(&p, 0), b = permutation_at(&p, sizes[s] - 1);
        assert_true(a < sizes[s] && b < sizes[s] && a != b);
    }
}

/* Mixed well: neighbours land apart, in no order, at all places alike. */
static void permutations_mix(void **state)
{
    (void)state;
    enum { SIZE = 10007, PARTS = 10 };
    int cells[PARTS][PARTS] = {{0}}, rising = 0, near = 0;
    struct permutation p;
    permutation_init(&p, SIZE, 42, 0);
    uint64_t before = 0;
    for (uint64_t i = 0; i < SIZE; i++) {
        uint64_t to = permutation_at(&p, i);
        cells[i * PARTS / SIZE][to * PARTS / SIZE]++;
        rising += to > before;
        near += to - before + 10 < 20;
        before = to;
    }
    assert_in_range(rising, SIZE / 2 - 300, SIZE / 2 + 300);
    assert_in_range(near, 0, 60); /* 20 expected */
    for (int i = 0; i < PARTS * PARTS; i++)
        assert_in_range(cells[i / PARTS][i % PARTS], 50, 150); /* 100 expected */
}

static void windows_follow_the_stride(void **state)
{
    (void)state;
    static const struct {
        int length, stride;
        uint64_t windows;
    } cases[] = {
        {100, 0, 10}, /* nine whole ones, and one of 99 labels */
        {99, 0, 11},   {111, 0, 9},   {999, 0, 1},   {100, 50, 19}, {100, 100, 10},
        {100, 99, 11}, {100, 1, 900}, {100, 500, 2}, {100, 300, 4}, {100, 333, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int length = cases[i].length, stride = cases[i].stride > 0 ? cases[i].stride : length;
        int labelled[N] = {0};
        const token_id *ids, *labels;
        struct batches *b = open_batches(&data, 1, length, cases[i].stride, false, 0);
        assert_int_equal(batches_per_epoch(b), cases[i].windows);
        for (int w = 0; w < (int)cases[i].windows; w++) {
            assert_ok(batches_next(b, &ids, &labels));
            for (int k = 0; k < length; k++) {
                int at = w * stride + k;
                assert_int_equal(ids[k], at < N - 1 ? at : 0);
                assert_int_equal(labels[k], at < N - 1 ? at + 1 : LABEL_NONE);
                labelled[at < N - 1 ? at + 1 : 0]++;
            }
        }
        for (int k = 1; k < N && stride <= length; k++)
            assert_true(stride == length ? labelled[k] == 1 : labelled[k] >= 1);
        batches_free(b);
    }
}

static void epochs_have_every_window_once(void **state)
{
    (void)state;
    enum { LENGTH = 20, WINDOWS = 50, EPOCHS = 3, BATCH = 7 };
    int starts[EPOCHS * WINDOWS];
    struct batches *b = open_batches(&data, BATCH, LENGTH, 0, true, 9);
    assert_int_equal(batches_per_epoch(b), WINDOWS);
    take(b, BATCH, LENGTH, starts, EPOCHS * WINDOWS);
    assert_int_equal(batches_given(b), (EPOCHS * WINDOWS + BATCH - 1) / BATCH * BATCH);
    for (int e = 0; e < EPOCHS; e++) {
        bool seen[WINDOWS] = {0};
        int moved = 0;
        for (int i = 0; i < WINDOWS; i++) {
            int window = starts[e * WINDOWS + i] / LENGTH;
            assert_false(seen[window]);
            seen[window] = true;
            moved += window != i;
        }
        assert_true(moved > WINDOWS / 2);
        for (int f = 0; f < e; f++)
            assert_memory_not_equal(starts + e * WINDOWS, starts + f * WINDOWS,
                                    WINDOWS * sizeof *starts);
    }
    batches_free(b);
}

/* With shift: the windows of the first epoch as without, of each other one all later by as much. */
static void shifted_epochs_begin_elsewhere(void **state)
{
    (void)state;
    enum { LENGTH = 20, EPOCHS = 40 };
    static const int strides[] = {16, 50}, counts[] = {63, 20};
    for (int s = 0; s < 2; s++) {
        const int stride = strides[s], windows = counts[s];
        struct data_config c = {.stride = stride, .shift = true, .seed = 3};
        struct batches *b, *again = open_batches(&data, 1, LENGTH, stride, false, 0);
        const token_id *ids, *labels;
        bool begun[50] = {0};
        int starts[2], n_begun = 0;
        assert_ok(batches_new(&b, &data, &c, 1, LENGTH));
        assert_int_equal(batches_per_epoch(b), windows);
        assert_int_equal(batches_per_epoch(again), windows);
        for (int e = 0, later = 0; e < EPOCHS; e++)
            for (int w = 0; w < windows; w++) {
                assert_ok(batches_next(b, &ids, &labels));
                if (e == 0)
                    take(again, 1, LENGTH, starts, 1);
                else if (w == 0) {
                    later = ids[0];
                    assert_in_range(later, 0, stride - 1);
                    n_begun += !begun[later];
                    begun[later] = true;
                }
                const int begins = w * stride + later, last = N - 1 - LENGTH;
                assert_int_equal(ids[0], e == 0                        ? starts[0]
                                         : begins < last || later == 0 ? begins
                                                                       : last);
                assert_int_equal(labels[0], ids[0] + 1);
                assert_true(labels[LENGTH - 1] == ids[0] + LENGTH ||
                            (later == 0 && labels[LENGTH - 1] == LABEL_NONE));
            }
        assert_true(n_begun > 8);
        batches_seek(b, (uint64_t)(7 * windows + 3));
        take(b, 1, LENGTH, starts, 1);
        batches_seek(b, (uint64_t)(7 * windows + 4));
        take(b, 1, LENGTH, starts + 1, 1);
        assert_int_equal(starts[1] - starts[0], stride);
        batches_free(b);
        batches_free(again);
    }
}

static void seeds_and_splits(void **state)
{
    (void)state;
    int a[120], b[120];
    struct batches *x = open_batches(&data, 8, 20, 0, true, 1);
    struct batches *y = open_batches(&data, 2, 20, 0, true, 1);
    struct batches *z = open_batches(&data, 8, 20, 0, true, 2);
    take(x, 8, 20, a, 120);
    take(y, 2, 20, b, 120);
    assert_memory_equal(a, b, sizeof a); /* batches of any size give the same windows */
    take(z, 8, 20, b, 120);
    assert_memory_not_equal(a, b, sizeof a);
    batches_free(x);
    batches_free(y);
    batches_free(z);
}

static void seeking_is_going_on(void **state)
{
    (void)state;
    enum { BATCH = 3, LENGTH = 30, BATCHES = 60 };
    token_id kept[BATCHES][2][BATCH * LENGTH];
    const token_id *ids, *labels;
    struct batches *b = open_batches(&data, BATCH, LENGTH, 17, true, 3);
    for (int i = 0; i < BATCHES; i++) {
        assert_int_equal(batches_given(b), i * BATCH);
        assert_ok(batches_next(b, &ids, &labels));
        memcpy(kept[i][0], ids, sizeof kept[i][0]);
        memcpy(kept[i][1], labels, sizeof kept[i][1]);
    }
    for (uint64_t k = 0; k < 100; k++) {
        uint32_t w[4];
        rng_words(w, 7, 7, k);
        int to = (int)(w[0] % BATCHES);
        batches_seek(b, (uint64_t)to * BATCH);
        assert_int_equal(batches_given(b), to * BATCH);
        for (int i = to; i < to + 3 && i < BATCHES; i++) {
            assert_ok(batches_next(b, &ids, &labels));
            assert_memory_equal(kept[i][0], ids, sizeof kept[i][0]);
            assert_memory_equal(kept[i][1], labels, sizeof kept[i][1]);
        }
    }
    batches_free(b);
    /* Also into the middle of a batch, by another object, far away. */
    b = open_batches(&data, 1, LENGTH, 17, true, 3);
    batches_seek(b, 10 * BATCH + 2);
    assert_ok(batches_next(b, &ids, &labels));
    assert_memory_equal(kept[10][0] + 2 * LENGTH, ids, LENGTH * sizeof *ids);
    batches_seek(b, (uint64_t)1 << 60);
    assert_ok(batches_next(b, &ids, &labels));
    assert_int_equal(ids[0] % 17, 0);
    batches_free(b);
}

static void refuses_what_has_no_window(void **state)
{
    (void)state;
    struct batches *b;
    struct data_config c = {0};
    char *name = data.name;
    data.name = "my.txt";
    assert_int_equal(batches_new(&b, &data, &c, 1, N), ERR_RANGE);
    data.name = name;
    assert_string_equal(err_text(), "my.txt has 1000 tokens for training, expected at least 1001 "
                                    "for a window of 1000: more text, or a sequence_length of at "
                                    "most 999");
    struct dataset none = {.name = "my.txt"};
    assert_int_equal(batches_new(&b, &none, &c, 1, 8), ERR_RANGE);
    assert_string_equal(err_text(), "my.txt has 0 tokens for training, expected at least 2");
    assert_int_equal(batches_new(&b, &data, &c, 0, 8), ERR_RANGE);
    assert_int_equal(batches_new(&b, &data, &c, 1, 0), ERR_RANGE);
    c.stride = -1;
    assert_int_equal(batches_new(&b, &data, &c, 1, 8), ERR_RANGE);
}

/* The file is cut while it is read, and mended. */
static void errors_reach_the_caller(void **state)
{
    (void)state;
    char whole[2 * N];
    const token_id *ids, *labels;
    struct file f;
    assert_ok(file_open(&f, scratch_path(&scratch, "ids.bin")));
    assert_ok(file_read_at(&f, whole, 0, sizeof whole));
    file_close(&f);
    struct batches *b = open_batches(&data, 2, 100, 0, false, 0);
    assert_ok(batches_next(b, &ids, &labels));
    batches_seek(b, 8);
    assert_int_equal(truncate(scratch_path(&scratch, "ids.bin"), 1900), 0);
    batches_seek(b, 8);
    for (int i = 0; i < 3; i++) {
        err_clear();
        assert_int_equal(batches_next(b, &ids, &labels), ERR_FORMAT);
        assert_string_equal(scratch_sentence(&scratch, err_text()),
                            "DIR/ids.bin ends at byte 1900, expected 2000: the file is truncated");
        assert_int_equal(batches_given(b), 8);
    }
    int fd = open(scratch_path(&scratch, "ids.bin"), O_WRONLY);
    assert_int_equal(pwrite(fd, whole, sizeof whole, 0), sizeof whole);
    close(fd);
    batches_seek(b, 8);
    assert_ok(batches_next(b, &ids, &labels));
    assert_int_equal(ids[0], 800);
    batches_free(b);
}

/* No allocation a batch; objects that are thrown away at any time leave nothing. */
static void nothing_is_allocated_or_left(void **state)
{
    (void)state;
    const token_id *ids, *labels;
    struct batches *b = open_batches(&data, 2, 10, 0, true, 0);
    uint64_t before = mem_count();
    for (int i = 0; i < 500; i++)
        assert_ok(batches_next(b, &ids, &labels));
    batches_seek(b, 4);
    assert_ok(batches_next(b, &ids, &labels));
    assert_int_equal(mem_count(), before);
    batches_free(b);
    for (int i = 0; i < 50; i++)
        batches_free(open_batches(&data, 50, 19, 0, true, 0));
    batches_free(NULL);
    int rc = ERR_NOMEM;
    uint64_t k = 1;
    for (; rc != 0; k++) {
        struct data_config c = {0};
        mem_fail_at(k);
        rc = batches_new(&b, &data, &c, 2, 10);
        mem_fail_at(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
    }
    assert_true(k > 3);
    batches_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutations_are_bijections),
        cmocka_unit_test(permutations_reach_any_size),
        cmocka_unit_test(permutations_mix),
        cmocka_unit_test(windows_follow_the_stride),
        cmocka_unit_test(epochs_have_every_window_once),
        cmocka_unit_test(shifted_epochs_begin_elsewhere),
        cmocka_unit_test(seeds_and_splits),
        cmocka_unit_test(seeking_is_going_on),
        cmocka_unit_test(refuses_what_has_no_window),
        cmocka_unit_test(errors_reach_the_caller),
        cmocka_unit_test(nothing_is_allocated_or_left),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
