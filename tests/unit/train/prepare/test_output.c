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
    const token_id ids[2] = {1, 2};
    char *out = data_path("big.bin");
    assert_ok(output_open(&o, OUTPUT_LLMC, out, 257, TOKEN_NONE, true));
    o.n_tokens = INT32_MAX - 1;
    assert_ok(output_add_ids(&o, ids, 1));
    assert_fails(output_add_ids(&o, ids, 1), ERR_RANGE,
                 "2147483648 tokens are more than the 2147483647 that a file of llm.c can have");
    output_abandon(&o);
    mem_free(out);
}

static void write_llmc(const char *name, const uint16_t *ids, int n)
{
    char file[1024 + 64] = "";
    const int32_t head[3] = {20240520, 1, n};
    memcpy(file, head, sizeof head);
    memcpy(file + 1024, ids, (size_t)n * sizeof *ids);
    scratch_write(&data_scratch, name, file, 1024 + (size_t)n * sizeof *ids);
}

/* Convert IN, paths with a comma between them, to OUT and compare its last ids. */
static void expect_ids(enum output_format f, const char *in, const char *out, const uint16_t *ids,
                       size_t n)
{
    struct convert_report said;
    struct buf found = {0};
    const char *comma = strchr(in, ',');
    char *to = data_path(out), *from, *other;
    char *first = mem_sprintf("%.*s", comma == NULL ? (int)strlen(in) : (int)(comma - in), in);
    from = data_path(first);
    if (comma != NULL) {
        char *one = from, *two = data_path(comma + 1);
        from = mem_sprintf("%s,%s", one, two);
        mem_free(one);
        mem_free(two);
    }
    assert_ok(convert_run(&said, f, from, to, NULL, true, NULL));
    other = mem_sprintf("%s%s", out, f == OUTPUT_MEGATRON ? ".bin" : "");
    data_read(&found, other);
    assert_int_equal(found.n, n * sizeof *ids + (f == OUTPUT_LLMC ? 1024 : 0));
    assert_memory_equal(found.data + (f == OUTPUT_LLMC ? 1024 : 0), ids, n * sizeof *ids);
    assert_int_equal(said.tokens, n);
    assert_false(said.unsplit || said.unmoved);
    buf_release(&found);
    mem_free(first);
    mem_free(from);
    mem_free(to);
    mem_free(other);
}

/* llm.c's end of text stands before a document, that of other formats behind it: it moves, and
 * whole files come back as they were. */
static void ends_of_llmc_move(void **state)
{
    (void)state;
    enum { E = 50256 };
    static const uint16_t before[] = {E, 5, 6, E, E, 7}, behind[] = {5, 6, E, E, 7, E};
    static const uint16_t begun[] = {E, 1, E, 2}, rest[] = {3, E, 4};
    static const uint16_t separate[] = {1, E, 2, 3, E, 4, E}, joined[] = {E, 1, E, 2, 3, E, 4};
    write_llmc("l.bin", before, 6);
    expect_ids(OUTPUT_MEGATRON, "l.bin", "l-m", behind, 6);
    expect_ids(OUTPUT_LLMC, "l-m", "l-back.bin", before, 6);
    data_same_file("l.bin", "l-back.bin");
    expect_ids(OUTPUT_NANOGPT, "l.bin", "l-n.bin", behind, 6);
    expect_ids(OUTPUT_LLMC, "l-n.bin", "l-back.bin", before, 6);
    data_same_file("l.bin", "l-back.bin");
    expect_ids(OUTPUT_LLMC, "l.bin", "l-back.bin", before, 6);
    /* A document that begins in one file and ends in the next. */
    write_llmc("s1.bin", begun, 4);
    write_llmc("s2.bin", rest, 3);
    expect_ids(OUTPUT_MEGATRON, "s1.bin,s2.bin", "s-m", separate, 7);
    expect_ids(OUTPUT_LLMC, "s1.bin,s2.bin", "s.bin", joined, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_of_another_format_goes),
        cmocka_unit_test(a_kill_leaves_no_file_that_looks_whole),
        cmocka_unit_test(llmc_refuses_what_it_cannot_count),
        cmocka_unit_test(ends_of_llmc_move),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
