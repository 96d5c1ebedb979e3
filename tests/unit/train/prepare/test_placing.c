/* A preparation that is killed while its files take their places goes on to the same bytes, without
 * --force; what is not its own stays. */
#include "tests/lib/prepared.h"

#include "train/prepare/convert.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The calls by which files take their places and go, in place of the C library's: the process is
 * killed at the one that makes calls_left 0. */
static int calls_left = -1;

static void count_call(void)
{
    if (calls_left > 0 && --calls_left == 0)
        raise(SIGKILL);
}

int link(const char *from, const char *to);
int link(const char *from, const char *to)
{
    count_call();
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int rename(const char *from, const char *to)
{
    count_call();
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path);
int unlink(const char *path)
{
    count_call();
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int unlinkat(int folder, const char *path, int flags);
int unlinkat(int folder, const char *path, int flags)
{
    count_call();
    return (int)syscall(SYS_unlinkat, folder, path, flags);
}

static int prepare_again(const char *out, const char *const *words, struct prepare_report *r)
{
    struct prepare_config c;
    char *in = data_path("texts.txt"), *path = data_path(out);
    int rc = prepare_config_init(&c);
    for (; *words != NULL && rc == 0; words++)
        rc = prepare_config_set(&c, *words);
    if (rc == 0)
        rc = prepare_run(r, &c, in, path, data_tokenizer, false, NULL);
    prepare_config_release(&c);
    mem_free(in);
    mem_free(path);
    return rc;
}

static int convert_again(const char *out, enum output_format f)
{
    struct convert_report r;
    char *in = data_path("a-train"), *path = data_path(out);
    int rc = convert_run(&r, f, in, path, data_tokenizer, false, NULL);
    mem_free(in);
    mem_free(path);
    return rc;
}

/* Whether it was killed before it was done; else it succeeded. A process of its own, which forks no
 * team of threads. */
static bool kill_at(int call, const char *out, const char *const *words, enum output_format f)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct prepare_report r;
        calls_left = call;
        _exit((words == NULL ? convert_again(out, f) : prepare_again(out, words, &r)) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        return true;
    assert_int_equal(status, 0);
    return false;
}

static void delete_files(const char *const *files)
{
    for (; *files != NULL; files++)
        unlink(scratch_path(&data_scratch, *files));
}

static const char *const split_files[] = {"b-train.bin", "b-train.idx", "b-validation.bin",
                                          "b-validation.idx", NULL};
static const char *const whole_files[] = {"a-train.bin", "a-train.idx", "a-validation.bin",
                                          "a-validation.idx", NULL};

static void the_same_command_goes_on(void **state)
{
    (void)state;
    static const char *const of_split[][5] = {
        {"a-train.bin", "a-train.idx", "a-validation.bin", "a-validation.idx"},
        {"b-train.bin", "b-train.idx", "b-validation.bin", "b-validation.idx"}};
    static const char *const of_records[][5] = {{"c.tfrecord", "c.tfrecord.index"},
                                                {"d.tfrecord", "d.tfrecord.index"}};
    static const char *const of_llmc[][5] = {{"c.bin"}, {"d.bin"}};
    static const char *const of_lines[][5] = {{"c.jsonl"}, {"d.jsonl"}};
    const struct {
        const char *whole, *out;
        const char *const (*files)[5];
        const char *const *words;
    } rows[] = {{"a", "b", of_split, WORDS("split=0.5,0.5")},
                {"c.tfrecord", "d.tfrecord", of_records, WORDS("seed=2")},
                {"c.bin", "d.bin", of_llmc, WORDS("format=llmc")},
                {"c.jsonl", "d.jsonl", of_lines, WORDS("seed=2")}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int call = 1;
        char hidden[64];
        snprintf(hidden, sizeof hidden, ".%s.preparing", rows[i].out);
        assert_false(kill_at(-1, rows[i].whole, rows[i].words, OUTPUT_FORMATS));
        for (; kill_at(call, rows[i].out, rows[i].words, OUTPUT_FORMATS); call++) {
            assert_false(kill_at(-1, rows[i].out, rows[i].words, OUTPUT_FORMATS));
            for (int k = 0; rows[i].files[0][k] != NULL; k++)
                data_same_file(rows[i].files[0][k], rows[i].files[1][k]);
            assert_false(file_exists(scratch_path(&data_scratch, hidden)));
            delete_files(rows[i].files[1]);
        }
        assert_true(call > 4);
    }
}

static void the_same_conversion_goes_on(void **state)
{
    (void)state;
    static const struct {
        enum output_format format;
        const char *whole, *out, *files[2][3];
    } rows[] = {
        {OUTPUT_MEGATRON, "e", "f", {{"e.bin", "e.idx"}, {"f.bin", "f.idx"}}},
        {OUTPUT_TFRECORD,
         "e.tfrecord",
         "f.tfrecord",
         {{"e.tfrecord", "e.tfrecord.index"}, {"f.tfrecord", "f.tfrecord.index"}}},
        {OUTPUT_LLMC, "g.bin", "h.bin", {{"g.bin"}, {"h.bin"}}},
        {OUTPUT_JSON_LINES, "e.jsonl", "f.jsonl", {{"e.jsonl"}, {"f.jsonl"}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const enum output_format f = rows[i].format;
        int call = 1;
        char hidden[64];
        snprintf(hidden, sizeof hidden, ".%s.converting", rows[i].out);
        assert_false(kill_at(-1, rows[i].whole, NULL, f));
        for (; kill_at(call, rows[i].out, NULL, f); call++) {
            if (f == OUTPUT_MEGATRON && file_exists(scratch_path(&data_scratch, "f.bin")))
                data_same_file("e.idx", "f.idx");
            assert_false(kill_at(-1, rows[i].out, NULL, f));
            for (int k = 0; rows[i].files[0][k] != NULL; k++)
                data_same_file(rows[i].files[0][k], rows[i].files[1][k]);
            assert_false(file_exists(scratch_path(&data_scratch, hidden)));
            delete_files(rows[i].files[1]);
        }
        assert_true(call > 3);
    }
}

static void of_another_conversion_stays(void **state)
{
    (void)state;
    int call = 1;
    while (!file_exists(scratch_path(&data_scratch, "i.idx")))
        assert_true(kill_at(call++, "i", NULL, OUTPUT_MEGATRON));
    char *in = data_path("a-validation"), *path = data_path("i");
    struct convert_report r;
    assert_fails(convert_run(&r, OUTPUT_MEGATRON, in, path, data_tokenizer, false, NULL),
                 ERR_EXISTS, "i.idx exists already; --force overwrites it");
    mem_free(in);
    mem_free(path);
}

/* Under the same name, but with other bytes. */
static void of_a_changed_input_stays(void **state)
{
    (void)state;
    struct convert_report r;
    char *in = data_path("changed.pkl"), *path = data_path("j");
    for (int kept = 0; kept < 2; kept++) {
        int status;
        const char before[] = "\x80\2](]K\1a]K\2ae.", behind[] = "\x80\2](]K\2a]K\1ae.";
        scratch_write(&data_scratch, "changed.pkl", before, sizeof before - 1);
        for (int call = 1; !file_exists(scratch_path(&data_scratch, "j.idx")); call++) {
            const pid_t child = fork();
            assert_true(child >= 0);
            if (child == 0) {
                calls_left = call;
                convert_run(&r, OUTPUT_MEGATRON, in, path, NULL, false, NULL);
                _exit(0);
            }
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(WIFSIGNALED(status));
        }
        if (kept) { /* nothing has changed but what was looked at in between */
            assert_ok(convert_run(&r, OUTPUT_MEGATRON, in, path, NULL, false, NULL));
            break;
        }
        scratch_write(&data_scratch, "changed.pkl", behind, sizeof behind - 1);
        assert_fails(convert_run(&r, OUTPUT_MEGATRON, in, path, NULL, false, NULL), ERR_EXISTS,
                     "j.idx exists already; --force overwrites it");
        assert_ok(convert_run(&r, OUTPUT_MEGATRON, in, path, NULL, true, NULL));
        unlink(scratch_path(&data_scratch, "j.bin"));
        unlink(scratch_path(&data_scratch, "j.idx"));
    }
    mem_free(in);
    mem_free(path);
}

/* Of another command, or another's: as if there were no note. */
static void what_is_not_its_own_stays(void **state)
{
    (void)state;
    struct prepare_report r;
    const char *const *words = WORDS("split=0.5,0.5");
    int call = 1;
    delete_files(split_files);
    while (!file_exists(scratch_path(&data_scratch, "b-train.bin")))
        assert_true(kill_at(call++, "b", words, OUTPUT_FORMATS));
    assert_fails(prepare_again("b", WORDS("split=0.5,0.5", "seed=9"), &r), ERR_EXISTS,
                 "exists already; --force overwrites it");
    data_same_file(whole_files[0], split_files[0]);
    delete_files(split_files);
    data_text("b-train.bin", "mine");
    assert_fails(prepare_again("b", words, &r), ERR_EXISTS,
                 "b-train.bin exists already; --force overwrites it");
    assert_true(file_exists(scratch_path(&data_scratch, "b-train.bin")));
}

static int setup(void **state)
{
    int rc = data_setup(state);
    data_text("texts.txt", "one day<|endoftext|>another day<|endoftext|>a third<|endoftext|>last");
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_command_goes_on),
        cmocka_unit_test(the_same_conversion_goes_on),
        cmocka_unit_test(of_another_conversion_stays),
        cmocka_unit_test(of_a_changed_input_stays),
        cmocka_unit_test(what_is_not_its_own_stays),
    };
    return cmocka_run_group_tests(tests, setup, data_teardown);
}
