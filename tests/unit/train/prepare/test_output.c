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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_of_another_format_goes),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
