/* A session in a file: nothing is read again, and what is wrong with a file is said. */
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

#include "kvcache/snapshot.h"
#include "model/base/file.h"
#include "model/base/par.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 150, VERSION_AT = 16, IDS_AT = 72, CACHED_AT = 80, LOGITS_AT = 88, SETTINGS_AT = 96 };

struct fixture {
    struct model m;
    struct engine e;
    struct sequence s;
    token_id ids[200];
    size_t bytes;
    char *path;
};

static void open_cache(struct fixture *x, enum dtype kind, enum dtype cache, uint64_t seed)
{
    struct config c = tiny_config();
    if (kind == DTYPE_Q8) { /* whole blocks */
        c.n_embd = 96;
        c.n_inner = 160;
    }
    tiny_init(&x->m, &c, kind, seed);
    assert_ok(engine_init_as(&x->e, &x->m, 1, cache));
    assert_ok(sequence_init(&x->s, &x->e));
    tiny_ids(x->ids, 200, &c, 4);
    x->bytes = (size_t)c.n_vocab * sizeof(float);
    x->path = mem_strdup(scratch_path(scratch_of_process(), "session"));
}

static void open_fixture(struct fixture *x, enum dtype kind, uint64_t seed)
{
    open_cache(x, kind, kv_dtype_of(kind), seed);
}

static void close_fixture(struct fixture *x)
{
    sequence_release(&x->s);
    assert_int_equal(kvcache_used_bytes(&x->e.cache), 0);
    engine_release(&x->e);
    tiny_release(&x->m);
    mem_free(x->path);
}

static void count_reads(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)what;
    (void)done;
    (void)total;
    ++*(int *)user;
}

static void a_load_reads_nothing_again(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 64, N, 200};
    static const enum dtype kinds[] = {DTYPE_F32, DTYPE_F16, DTYPE_Q8, DTYPE_F16},
                            caches[] = {DTYPE_F32, DTYPE_F16, DTYPE_F16, DTYPE_Q8};
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < 5; i++) {
            struct fixture x, y;
            const enum dtype kind = kinds[k];
            size_t n = lengths[i];
            char *settings = NULL;
            int reads = 0;
            bool unread = true;
            struct progress p = {.step = count_reads, .user = &reads};
            open_cache(&x, kind, caches[k], 7);
            open_cache(&y, kind, caches[k], 7);
            if (n > 0)
                assert_ok(sequence_feed(&x.s, x.ids, n, NULL));
            assert_ok(sequence_feed(&y.s, y.ids + 20, 30, NULL));
            assert_ok(snapshot_save(&x.s, x.path, "temperature: 0.5\n", true));
            assert_ok(snapshot_load(&y.s, x.path, NULL, NULL, &settings, &unread));
            assert_false(unread);
            assert_string_equal(settings, "temperature: 0.5\n");
            assert_int_equal(y.s.ids.n, n);
            assert_int_equal(sequence_cached(&y.s), n);
            assert_memory_equal(y.s.ids.data, x.ids, n * sizeof *x.ids);
            assert_ok(sequence_feed(&y.s, NULL, 0, &p));
            assert_int_equal(reads, 0);
            if (n > 0)
                assert_memory_equal(y.s.logits, x.s.logits, x.bytes);
            if (n < 200) {
                assert_ok(sequence_feed(&x.s, x.ids + 10, 1, NULL));
                assert_ok(sequence_feed(&y.s, x.ids + 10, 1, NULL));
                assert_memory_equal(y.s.logits, x.s.logits, x.bytes);
            }
            remove(x.path);
            mem_free(settings);
            close_fixture(&x);
            close_fixture(&y);
        }
}

/* Keys and values of another type: the text is there, and is read again into what it would be. */
static void another_type_is_read_again(void **state)
{
    (void)state;
    static const enum dtype types[] = {DTYPE_F32, DTYPE_F16, DTYPE_Q8};
    for (int i = 0; i < 9; i++) {
        struct fixture x, y;
        char *settings = NULL;
        bool unread = false;
        if (i / 3 == i % 3)
            continue;
        open_cache(&x, DTYPE_F16, types[i / 3], 7);
        open_cache(&y, DTYPE_F16, types[i % 3], 7);
        assert_ok(sequence_feed(&x.s, x.ids, N, NULL));
        assert_ok(sequence_feed(&y.s, y.ids, N, NULL));
        float *logits = mem_alloc(x.bytes);
        memcpy(logits, y.s.logits, x.bytes);
        assert_memory_not_equal(logits, x.s.logits, x.bytes);
        sequence_truncate(&y.s, 0);
        assert_ok(sequence_feed(&y.s, y.ids + 20, 30, NULL));
        assert_ok(snapshot_save(&x.s, x.path, "a: 1\n", true));
        assert_ok(snapshot_load(&y.s, x.path, NULL, NULL, &settings, &unread));
        assert_true(unread);
        assert_string_equal(settings, "a: 1\n");
        assert_int_equal(y.s.ids.n, N);
        assert_int_equal(sequence_cached(&y.s), 0);
        assert_false(sequence_has_logits(&y.s));
        assert_ok(sequence_feed(&y.s, NULL, 0, NULL));
        assert_memory_equal(y.s.logits, logits, x.bytes);
        remove(x.path);
        mem_free(settings);
        mem_free(logits);
        close_fixture(&x);
        close_fixture(&y);
    }
}

/* A text whose context is full, and the id that came behind it. */
static void a_file_holds_an_unread_last_id(void **state)
{
    (void)state;
    struct fixture x, y;
    char *settings = NULL;
    open_fixture(&x, DTYPE_F16, 7);
    open_fixture(&y, DTYPE_F16, 7);
    token_id ids[201];
    memcpy(ids, x.ids, sizeof x.ids);
    ids[200] = 5;
    assert_ok(sequence_keep(&x.s, ids, 201, NULL));
    assert_ok(snapshot_save(&x.s, x.path, "", true));
    assert_ok(snapshot_load(&y.s, x.path, NULL, NULL, &settings, NULL));
    assert_int_equal(y.s.ids.n, 201);
    assert_memory_equal(y.s.ids.data, ids, sizeof ids);
    assert_int_equal(sequence_cached(&y.s), 200);
    assert_false(sequence_has_logits(&y.s));
    remove(x.path);
    mem_free(settings);
    close_fixture(&x);
    close_fixture(&y);
}

/* Two texts that end alike give the same file: nothing of what a page held before. */
static void a_file_holds_this_text_alone(void **state)
{
    (void)state;
    struct fixture x;
    struct buf before = {0}, after = {0};
    open_fixture(&x, DTYPE_F16, 7);
    assert_ok(sequence_feed(&x.s, x.ids, 70, NULL));
    assert_ok(snapshot_save(&x.s, x.path, NULL, true));
    assert_ok(file_read_all(&before, x.path, UINT64_MAX));
    assert_ok(sequence_feed(&x.s, x.ids + 70, 50, NULL));
    sequence_truncate(&x.s, 70);
    assert_ok(sequence_feed(&x.s, NULL, 0, NULL));
    assert_ok(snapshot_save(&x.s, x.path, NULL, true));
    assert_ok(file_read_all(&after, x.path, UINT64_MAX));
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.data, after.data, before.n);
    assert_int_equal(snapshot_save(&x.s, x.path, NULL, false), ERR_EXISTS);
    buf_release(&before);
    buf_release(&after);
    remove(x.path);
    close_fixture(&x);
}

static int refuse(void *user, const char *settings)
{
    return err_set(ERR_RANGE, "%s is no good%s", settings, (const char *)user);
}

/* The load fails with this code and these words, and the session is as it was. */
static void refused_by(snapshot_check *check, struct fixture *x, int code, const char *words)
{
    char *settings = NULL;
    float *logits = mem_alloc(x->bytes);
    memcpy(logits, x->s.logits, x->bytes);
    size_t used = kvcache_used_bytes(&x->e.cache);
    int rc = snapshot_load(&x->s, x->path, check, " here", &settings, NULL);
    if (rc != code || strstr(err_text(), words) == NULL || strncmp(err_text(), "cannot ", 7) != 0)
        fail_msg("got %d: %s; expected %d: %s", rc, err_text(), code, words);
    /* Those of other weights' files say whose these are. */
    if (strstr(words, "other weights") != NULL)
        assert_string_equal(settings, "length: 7\n");
    else
        assert_null(settings);
    mem_free(settings);
    assert_int_equal(kvcache_used_bytes(&x->e.cache), used);
    assert_int_equal(x->s.ids.n, N);
    assert_int_equal(sequence_cached(&x->s), N);
    assert_memory_equal(x->s.ids.data, x->ids, N * sizeof *x->ids);
    assert_true(sequence_has_logits(&x->s));
    assert_memory_equal(x->s.logits, logits, x->bytes);
    mem_free(logits);
}

static void refused(struct fixture *x, int code, const char *words)
{
    refused_by(NULL, x, code, words);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint64_t value;
        size_t width;
        int code;
        const char *words;
    } words[] = {
        {0, 'x', 1, ERR_FORMAT, "not a session file"},
        {VERSION_AT, 2, 4, ERR_MISMATCH, "version 2, this program reads version 1"},
        {VERSION_AT + 4, 3, 4, ERR_FORMAT, "keys and values of 3 bytes, expected 1, 2 or 4"},
        {VERSION_AT + 4, 4, 4, ERR_MISMATCH, "expected 64512 and 101"},
        {VERSION_AT + 4, 1, 4, ERR_MISMATCH, "expected 18432 and 101"},
        {24, 0, 8, ERR_MISMATCH, "other weights than those loaded now"},
        {56, 1, 8, ERR_MISMATCH, "its pages have 1 bytes"},
        {64, 1000, 8, ERR_MISMATCH, "its logits 1000 numbers"},
        {IDS_AT, 202, 8, ERR_FORMAT, "it says 202 tokens, the context holds 200"},
        {IDS_AT, UINT64_MAX, 8, ERR_FORMAT, "it says 18446744073709551615 tokens"},
        {IDS_AT, 151, 8, ERR_FORMAT, "its header says"},
        {CACHED_AT, 151, 8, ERR_FORMAT, "it says 151 tokens read of 150"},
        {CACHED_AT, 10, 8, ERR_FORMAT, "its header says"},
        {LOGITS_AT, 5, 8, ERR_FORMAT, "it says 5 logits, expected 0 or 101"},
        {LOGITS_AT, 0, 8, ERR_FORMAT, "its header says"},
        {SETTINGS_AT, 1 << 30, 8, ERR_FORMAT, "it says 1073741824 bytes of settings"},
        {SETTINGS_AT, 3, 8, ERR_FORMAT, "its header says"},
        {104, 0x7fffffff, 4, ERR_FORMAT, "its checksum does not match"},
    };
    struct fixture x;
    struct buf good = {0};
    open_fixture(&x, DTYPE_F16, 7);
    assert_ok(sequence_feed(&x.s, x.ids, N, NULL));
    assert_ok(snapshot_save(&x.s, x.path, "length: 7\n", true));
    assert_ok(file_read_all(&good, x.path, UINT64_MAX));
    char *bad = mem_alloc(good.n + 1);

    refused_by(refuse, &x, ERR_RANGE, "length: 7\n is no good here");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        memcpy(bad, good.data, good.n);
        memcpy(bad + words[i].at, &words[i].value, words[i].width);
        scratch_file("session", bad, good.n);
        refused(&x, words[i].code, words[i].words);
    }
    static const size_t cuts[] = {0, 7, 103, 104, 300, 20000};
    for (size_t i = 0; i < 6; i++) {
        scratch_file("session", good.data, cuts[i]);
        refused(&x, ERR_FORMAT, cuts[i] < 104 ? "bytes are not a session file" : "its header says");
    }
    memcpy(bad, good.data, good.n);
    scratch_file("session", bad, good.n + 1);
    refused(&x, ERR_FORMAT, "its header says");
    for (size_t bit = 104 * 8 + 3; bit < good.n * 8; bit += good.n * 8 / 50) {
        memcpy(bad, good.data, good.n);
        bad[bit / 8] = (char)(bad[bit / 8] ^ (1 << bit % 8));
        scratch_file("session", bad, good.n);
        refused(&x, ERR_FORMAT, "its checksum does not match");
    }
    remove(x.path);
    refused(&x, ERR_MISSING, x.path);
    buf_release(&good);
    mem_free(bad);
    close_fixture(&x);
}

/* A file whose checksum is right, of a program that wrote what it should not have. */
static void ids_of_no_token_are_refused(void **state)
{
    (void)state;
    static const token_id bad[] = {-1, 101};
    struct fixture x;
    open_fixture(&x, DTYPE_F16, 7);
    assert_ok(sequence_feed(&x.s, x.ids, N, NULL));
    for (int i = 0; i < 2; i++) {
        x.s.ids.data[N - 1] = bad[i];
        assert_ok(snapshot_save(&x.s, x.path, "", true));
        x.s.ids.data[N - 1] = x.ids[N - 1];
        refused(&x, ERR_FORMAT, "is outside the model's vocabulary, 0 to 100");
    }
    remove(x.path);
    close_fixture(&x);
}

/* There is nothing to read again. */
static void an_empty_text_of_another_type_is_read(void **state)
{
    (void)state;
    struct fixture x, y;
    char *settings = NULL;
    bool unread = true;
    open_cache(&x, DTYPE_F16, DTYPE_F16, 7);
    open_cache(&y, DTYPE_F16, DTYPE_F32, 7);
    assert_ok(snapshot_save(&x.s, x.path, "", true));
    assert_ok(snapshot_load(&y.s, x.path, NULL, NULL, &settings, &unread));
    assert_false(unread);
    assert_int_equal(y.s.ids.n, 0);
    remove(x.path);
    mem_free(settings);
    close_fixture(&x);
    close_fixture(&y);
}

static void other_weights_are_refused(void **state)
{
    (void)state;
    struct fixture x, y;
    open_fixture(&x, DTYPE_F16, 7);
    open_fixture(&y, DTYPE_F16, 8);
    assert_ok(sequence_feed(&x.s, x.ids, N, NULL));
    assert_ok(sequence_feed(&y.s, y.ids, N, NULL));
    assert_ok(snapshot_save(&x.s, x.path, "length: 7\n", true));
    refused(&y, ERR_MISMATCH, "it was saved under other weights");
    remove(x.path);
    close_fixture(&x);
    close_fixture(&y);
}

static void no_memory_leaks_nothing(void **state)
{
    (void)state;
    struct fixture x;
    int rc;
    open_fixture(&x, DTYPE_F16, 7);
    assert_ok(sequence_feed(&x.s, x.ids, N, NULL));
    rc = ERR_NOMEM;
    uint64_t k = 1;
    for (; rc != 0; k++) {
        mem_fail_at(k);
        rc = snapshot_save(&x.s, x.path, "a: 1\n", true);
        mem_fail_at(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
    }
    assert_true(k > 3);
    rc = ERR_NOMEM;
    k = 1;
    for (; rc != 0; k++) {
        char *settings = NULL;
        mem_fail_at(k);
        rc = snapshot_load(&x.s, x.path, NULL, NULL, &settings, NULL);
        mem_fail_at(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        assert_int_equal(x.s.ids.n, N);
        assert_int_equal(sequence_cached(&x.s), N);
        mem_free(settings);
    }
    assert_true(k > 3);
    remove(x.path);
    close_fixture(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_reads_nothing_again),
        cmocka_unit_test(another_type_is_read_again),
        cmocka_unit_test(a_file_holds_an_unread_last_id),
        cmocka_unit_test(a_file_holds_this_text_alone),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(ids_of_no_token_are_refused),
        cmocka_unit_test(an_empty_text_of_another_type_is_read),
        cmocka_unit_test(other_weights_are_refused),
        cmocka_unit_test(no_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
