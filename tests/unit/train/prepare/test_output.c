/* The files of prepare and convert beside what is there. */
#include "tests/lib/data_set.h"

#include "train/prepare/convert.h"

#include <sys/inotify.h>
#include <unistd.h>

/* Readers would take it for that of the new file. */
static void an_index_of_another_format_goes(void **state)
{
    (void)state;
    struct convert_report said;
    struct buf ids = {0};
    char *in = data_path("in.bin"), *out = data_path("out.bin"), *index = data_path("out.idx");
    data_text("in.bin", "abcd");
    for (int f = 0; f < 2; f++) {
        const enum output_format format = f == 0 ? OUTPUT_NANOGPT : OUTPUT_LLMC;
        unlink(out);
        data_text("out.idx", "of another file");
        assert_fails(convert_run(&said, format, in, out, NULL, false, NULL), ERR_EXISTS,
                     "out.idx exists already; --force deletes it");
        assert_false(file_exists(out));
        assert_ok(convert_run(&said, format, in, out, NULL, true, NULL));
        assert_false(file_exists(index));
    }
    data_read(&ids, "out.bin");
    assert_memory_equal(ids.data + ids.n - 4, "abcd", 4);
    buf_release(&ids);
    mem_free(in);
    mem_free(out);
    mem_free(index);
}

/* What happened to the files of the folder, in order: "-out.bin +out.idx". */
static void take_events(struct buf *out, int watch)
{
    _Alignas(struct inotify_event) char block[8192];
    const ssize_t n = read(watch, block, sizeof block);
    out->n = 0;
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *e = (const void *)(block + at);
        if (strncmp(e->name, "out.", 4) == 0 && strstr(e->name, ".tmp") == NULL)
            assert_ok(buf_printf(out, "%s%c%s", out->n > 0 ? " " : "",
                                 e->mask & IN_DELETE ? '-' : '+', e->name));
        at += (ssize_t)(sizeof *e + e->len);
    }
}

/* At no time is there a .bin beside an index that is not its own, or a .bin of Megatron without
 * one. */
static void a_kill_leaves_no_file_that_looks_whole(void **state)
{
    (void)state;
    static const struct {
        const char *out;
        enum output_format format;
        const char *events;
    } rows[] = {
        {"out", OUTPUT_MEGATRON, "+out.idx +out.bin"},
        {"out", OUTPUT_MEGATRON, "-out.bin +out.idx +out.bin"},
        {"out.bin", OUTPUT_NANOGPT, "-out.bin -out.idx +out.bin"},
        {"out.tfrecord", OUTPUT_TFRECORD, "+out.tfrecord +out.tfrecord.index"},
        {"out.tfrecord", OUTPUT_TFRECORD, "-out.tfrecord.index +out.tfrecord +out.tfrecord.index"}};
    struct convert_report said;
    struct buf events = {0};
    static const char *const names[] = {"out.bin", "out.idx", "out.tfrecord", "out.tfrecord.index"};
    char *in = data_path("in.bin");
    data_text("in.bin", "abcd");
    for (size_t i = 0; i < 4; i++)
        unlink(scratch_path(&data_scratch, names[i]));
    const int watch = inotify_init1(IN_NONBLOCK);
    assert_true(
        inotify_add_watch(watch, data_scratch.folder, IN_CREATE | IN_MOVED_TO | IN_DELETE) >= 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *out = data_path(rows[i].out);
        assert_ok(convert_run(&said, rows[i].format, in, out, NULL, true, NULL));
        take_events(&events, watch);
        assert_string_equal(buf_text(&events), rows[i].events);
        mem_free(out);
    }
    close(watch);
    buf_release(&events);
    mem_free(in);
}

/* llm.c's header counts in 32 bits: more is refused before it is written. */
static void llmc_refuses_what_it_cannot_count(void **state)
{
    (void)state;
    struct output o;
    struct convert_report said;
    const token_id ids[2] = {1, 2};
    char *out = data_path("big.bin"), *in = data_path("sparse.bin");
    assert_ok(output_open(&o, OUTPUT_LLMC, out, 257, true));
    o.n_tokens = INT32_MAX - 1;
    assert_ok(output_add_ids(&o, ids, 1));
    assert_fails(output_add_ids(&o, ids, 1), ERR_RANGE,
                 "2147483648 tokens are more than the 2147483647 that a file of llm.c can have");
    output_abandon(&o);
    data_text("sparse.bin", "ab");
    assert_ok(truncate(in, ((off_t)1 << 32) + 2));
    assert_fails(convert_run(&said, OUTPUT_LLMC, in, out, NULL, true, NULL), ERR_RANGE,
                 "2147483649 tokens are more than");
    assert_ok(unlink(in));
    mem_free(in);
    mem_free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_of_another_format_goes),
        cmocka_unit_test(a_kill_leaves_no_file_that_looks_whole),
        cmocka_unit_test(llmc_refuses_what_it_cannot_count),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
