/* The files of prepare and convert beside what is there. */
#include "tests/lib/data_set.h"

#include "train/prepare/convert.h"

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
        cmocka_unit_test(llmc_refuses_what_it_cannot_count),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
