/* Texts are encoded once: what the cache keeps, when it is made anew, and what a failure leaves. */
#include "tests/unit/data_set.h"

#include <signal.h>
#include <sys/resource.h>

static void watch_encoding(void *user, const char *what, uint64_t done, uint64_t total)
{
    int *calls = user;
    assert_true(done <= total);
    *calls += strcmp(what, "encoding texts") == 0;
}

static int encodings(struct data_config *c, unsigned char identity[32])
{
    int calls = 0;
    struct progress p = {.step = watch_encoding, .user = &calls};
    struct dataset d, v;
    assert_ok(dataset_open(&d, &v, c, tokenizer, TINY_V, &p));
    memcpy(identity, d.identity, 32);
    dataset_close(&d);
    dataset_close(&v);
    return calls;
}

static void texts_are_encoded_once(void **state)
{
    (void)state;
    unsigned char first[32], again[32];
    data_text("cached.txt", "a text to be kept");
    struct data_config c = data_config_of((const char *const[]){"cached.txt"}, 1);
    int before = data_count_cached(".idx");
    assert_true(encodings(&c, first) > 0);
    assert_int_equal(data_count_cached(".idx"), before + 1);
    assert_int_equal(encodings(&c, again), 0);
    assert_memory_equal(first, again, 32);
    /* Other bytes are another set; so is another separator. */
    data_text("cached.txt", "a text to be kept!");
    assert_true(encodings(&c, again) > 0);
    assert_memory_not_equal(first, again, 32);
    c.document_separator[0] = '!';
    assert_true(encodings(&c, again) > 0);
    assert_int_equal(data_count_cached(".idx"), before + 3);
    assert_int_equal(data_count_cached(".tmp"), 0);
    data_config_release(&c);
}

static void damaged_caches_are_made_anew(void **state)
{
    (void)state;
    unsigned char identity[32];
    char command[3 * PATH_MAX];
    data_text("cut.txt", "the text whose cache is cut");
    struct data_config c = data_config_of((const char *const[]){"cut.txt"}, 1);
    static const char *const endings[] = {"bin", "idx"};
    assert_true(encodings(&c, identity) > 0);
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command, "truncate -s -1 %s/*.%s",
                 scratch_path(&scratch, "cache/prattle/data"), endings[i]);
        assert_int_equal(system(command), 0);
        assert_true(encodings(&c, identity) > 0);
        assert_int_equal(encodings(&c, identity), 0);
    }
    data_config_release(&c);
}

static void interrupted_encoding_leaves_nothing(void **state)
{
    (void)state;
    data_text("stopped.txt", "never to be finished");
    struct data_config c = data_config_of((const char *const[]){"stopped.txt"}, 1);
    struct dataset d, v;
    int before = data_count_cached("");
    interrupt_raise();
    assert_int_equal(dataset_open(&d, &v, &c, tokenizer, 0, NULL), ERR_INTERRUPTED);
    interrupt_clear();
    assert_int_equal(data_count_cached(""), before);
    assert_null(d.files);
    data_config_release(&c);
}

/* The limit on a file's size stands for the disk's end. */
static void full_disks_leave_nothing(void **state)
{
    (void)state;
    struct rlimit before, small;
    struct dataset d, v;
    struct buf text = {0};
    for (int i = 0; i < 100000; i++)
        assert_ok(buf_str(&text, "xyz "));
    scratch_write(&scratch, "much.txt", text.data, text.n);
    buf_release(&text);
    struct data_config c = data_config_of((const char *const[]){"much.txt"}, 1);
    int files = data_count_cached("");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int rc = dataset_open(&d, &v, &c, tokenizer, 0, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(rc, ERR_IO);
    assert_non_null(strstr(err_text(), "cannot encode the texts: cannot write "));
    assert_int_equal(data_count_cached(""), files);
    data_config_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_encoded_once),
        cmocka_unit_test(damaged_caches_are_made_anew),
        cmocka_unit_test(interrupted_encoding_leaves_nothing),
        cmocka_unit_test(full_disks_leave_nothing),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
