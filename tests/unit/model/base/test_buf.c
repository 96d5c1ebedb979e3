/* A buffer that cannot grow is as it was. */
#include "tests/lib/test.h"

#include "model/base/buf.h"
#include "model/base/mem.h"

#include <string.h>

static void a_failed_append_changes_nothing(void **state)
{
    (void)state;
    struct buf b = {0};
    assert_string_equal(buf_text(&b), "");
    for (int i = 0; i < 1000; i++)
        assert_ok(buf_printf(&b, "%d,", i % 10));
    assert_int_equal(b.n, 2000);
    mem_fail_at(1);
    assert_int_equal(buf_reserve(&b, 1 << 20), ERR_NOMEM);
    mem_fail_at(0);
    assert_int_equal(b.n, 2000);
    assert_int_equal(strlen(b.data), 2000);
    assert_int_equal(buf_reserve(&b, SIZE_MAX - 1), ERR_NOMEM);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_append_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
