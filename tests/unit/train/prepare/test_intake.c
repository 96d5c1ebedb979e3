/* What is stored when the process is killed counts, and no more than that. */
#include "tests/lib/data_set.h"
#include "tests/lib/thin.h"

#include "model/base/par.h"
#include "train/prepare/intake.h"

#include <sys/stat.h>
#include <unistd.h>

/* Documents of all lengths for several rounds, the last one of several chunks. */
static void write_text(void)
{
    struct buf text = {0};
    for (int i = 0; i < 12000; i++) {
        assert_ok(buf_printf(&text, "document %d has", i));
        for (int k = 0; k < i % 97; k++)
            assert_ok(buf_printf(&text, " word%d", (i * 7 + k) % 1000));
        assert_ok(buf_str(&text, "\n<|endoftext|>\n"));
    }
    for (int i = 0; i < 500000; i++)
        assert_ok(buf_printf(&text, "long%d ", i % 10));
    data_text("many.txt", buf_text(&text));
    buf_release(&text);
}

/* What a kill at the n-th report leaves: the files of the store as they are then. */
struct kill {
    int at, now;
};
static const char *const store_files[] = {"data", "ends", "marks", "state.json"};

static void copy_then(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct kill *k = user;
    struct buf bytes = {0};
    char name[64];
    (void)what;
    (void)done;
    (void)total;
    if (++k->now != k->at)
        return;
    for (size_t i = 0; i < sizeof store_files / sizeof *store_files; i++) {
        snprintf(name, sizeof name, "alive/%s", store_files[i]);
        data_read(&bytes, name);
        snprintf(name, sizeof name, "killed/%s", store_files[i]);
        scratch_write(&data_scratch, name, bytes.data, bytes.n);
    }
    buf_release(&bytes);
}

/* A store of many.txt that is saved between any two documents. Returns the documents that were
 * there before. */
static uint64_t most_tokens = UINT64_MAX;
static int expected;

static uint64_t fill_store_of(const char *folder, const struct progress *p)
{
    struct data_sources sources;
    struct store s;
    struct store_place place;
    char *in = data_path("many.txt"), *path = data_path(folder);
    assert_ok(data_sources_find(&sources, in));
    const uint64_t texts[] = {0, 1};
    const struct intake t = {.list = sources.list,
                             .n = sources.n,
                             .texts = texts,
                             .separator = "<|endoftext|>",
                             .field = "text",
                             .tokenizer = data_tokenizer,
                             .hash = true,
                             .record_max = 1 << 20,
                             .most_tokens = most_tokens,
                             .progress = p};
    assert_ok(store_open(&s, &place, path, "key", sizeof(struct text_hash)));
    const uint64_t before = s.n;
    assert_int_equal(intake_run(&t, &s, &place), expected);
    store_close(&s);
    data_sources_release(&sources);
    mem_free(in);
    mem_free(path);
    return before;
}

static void killed_work_goes_on(void **state)
{
    (void)state;
    uint64_t most = 0;
    struct kill kill = {0};
    write_text();
    assert_ok(par_open(1, false)); /* the long document takes several rounds */
    const int pace = THIN ? 3 : 1;
    for (int at = 1; kill.now >= at - pace; at += pace) {
        kill = (struct kill){.at = at};
        const struct progress p = {.step = copy_then, .user = &kill};
        for (size_t i = 0; i < sizeof store_files / sizeof *store_files; i++) {
            char name[64];
            snprintf(name, sizeof name, "alive/%s", store_files[i]);
            unlink(scratch_path(&data_scratch, name));
        }
        mkdir(scratch_path(&data_scratch, "killed"), 0700);
        fill_store_of("alive", &p);
        if (kill.now < at)
            break;
        const uint64_t before = fill_store_of("killed", NULL);
        assert_true(before >= most);
        most = before;
        for (size_t i = 0; i < sizeof store_files / sizeof *store_files; i++) {
            char one[64], other[64];
            snprintf(one, sizeof one, "alive/%s", store_files[i]);
            snprintf(other, sizeof other, "killed/%s", store_files[i]);
            data_same_file(one, other);
        }
    }
    assert_true(kill.at > 4 && most > 5000);
    par_close();
}

/* Before all is read; what there is goes on with another limit. */
static void too_many_tokens_are_refused_at_once(void **state)
{
    (void)state;
    most_tokens = 100000;
    expected = ERR_RANGE;
    assert_int_equal(fill_store_of("limited", NULL), 0);
    assert_non_null(strstr(err_text(), "there are more than the 100000 tokens"));
    most_tokens = UINT64_MAX;
    expected = 0;
    assert_true(fill_store_of("limited", NULL) > 100);
    data_same_file("alive/data", "limited/data");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_work_goes_on),
        cmocka_unit_test(too_many_tokens_are_refused_at_once),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
