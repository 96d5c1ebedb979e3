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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_wrap_and_keep_their_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
