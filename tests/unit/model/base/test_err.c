/* An error keeps its code through every wrapping, and its sentence fits. */
#include "tests/lib/test.h"

#include <string.h>

static void errors_wrap_and_keep_their_code(void **state)
{
    (void)state;
    assert_int_equal(err_set(ERR_RANGE, "top_p is %g, must be 0 to 1", 2.0), ERR_RANGE);
    assert_int_equal(err_wrap("line %d", 3), ERR_RANGE);
    assert_string_equal(err_text(), "line 3: top_p is 2, must be 0 to 1");
    assert_int_equal(err_set(ERR_FORMAT, "again: %s", err_text()), ERR_FORMAT);
    assert_string_equal(err_text(), "again: line 3: top_p is 2, must be 0 to 1");
    char long_name[3000];
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    err_set(ERR_IO, "%s", long_name);
    err_wrap("%s", long_name);
    assert_true(strlen(err_text()) < 1024);
}

static void errors_are_kept(void **state)
{
    (void)state;
    struct err_kept first, none;
    err_clear();
    err_keep(&none);
    err_set(ERR_IO, "the disk is full");
    err_keep(&first);
    err_set(ERR_MISSING, "there is no file");
    assert_int_equal(err_restore(&first), ERR_IO);
    assert_int_equal(err_last(), ERR_IO);
    assert_string_equal(err_text(), "the disk is full");
    assert_int_equal(err_restore(&none), 0);
    assert_string_equal(err_text(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_wrap_and_keep_their_code),
        cmocka_unit_test(errors_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
