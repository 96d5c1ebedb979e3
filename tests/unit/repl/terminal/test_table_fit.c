/* Tables of narrow terminals: no line is wider, whatever stands in the first column. */
#include "tests/lib/test.h"

#include "repl/terminal/table_fit.h"
#include "repl/terminal/term.h"

#include <string.h>

static void fit(struct buf *out, const char *name, int width, enum table_fit expected)
{
    static const char *const heads[] = {"name", "size", "used"};
    struct table t;
    enum table_fit is;
    out->n = 0;
    table_init(&t, heads, 3);
    for (int i = 0; i < 2; i++) {
        assert_ok(table_row(&t));
        assert_ok(table_cell(&t, 0, "%s", i == 0 ? name : "org/tiny"));
        assert_ok(table_cell(&t, 1, "1.5 GB"));
        assert_ok(table_cell(&t, 2, "2026-01-01 12:00"));
    }
    assert_ok(table_fit(&t, 1 << 2, 1 << 1, width, out, &is));
    assert_int_equal(is, expected);
    assert_true(term_widest(buf_text(out)) <= width);
    assert_null(strstr(buf_text(out), " \n"));
    table_release(&t);
}

static void names_are_broken(void **state)
{
    (void)state;
    static const char name[] = "a-long-organisation/a-model-with-a-name-of-its-own";
    struct buf out = {0};
    fit(&out, name, 100, TABLE_WHOLE);
    assert_non_null(strstr(buf_text(&out), name));
    fit(&out, name, 60, TABLE_LESS_SPARE);
    assert_non_null(strstr(buf_text(&out), name));
    fit(&out, name, 39, TABLE_LESS_SPARE);
    assert_non_null(strstr(buf_text(&out), "\na-long-organisation/\n"));
    assert_non_null(strstr(buf_text(&out), "\na-model-with-a-name-of-its-own "));
    fit(&out, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 30, TABLE_LESS_SPARE);
    assert_non_null(strstr(buf_text(&out), "1.5 GB"));
    fit(&out, name, 18, TABLE_LESS_MORE);
    assert_null(strstr(buf_text(&out), "GB"));
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
