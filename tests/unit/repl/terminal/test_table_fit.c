/* Tables of narrow terminals: no line is wider, whatever stands in the first column. */
#include "tests/lib/test.h"

#include "repl/terminal/table_fit.h"
#include "repl/terminal/term.h"

#include <string.h>
#include <unistd.h>

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
    /* A name that has no room beside its figures has lines of its own above them. */
    fit(&out, name, 51, TABLE_LESS_SPARE);
    assert_non_null(strstr(buf_text(&out), "name\n  size\n"));
    assert_non_null(strstr(buf_text(&out), "a-model-with-a-name-of-its-own\n  1.5 GB\norg/tiny\n"));
    fit(&out, name, 39, TABLE_LESS_SPARE);
    assert_non_null(
        strstr(buf_text(&out), "\na-long-organisation/\na-model-with-a-name-of-its-own\n"));
    fit(&out, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 30, TABLE_LESS_SPARE);
    assert_non_null(strstr(buf_text(&out), "aa\n  1.5 GB\n"));
    fit(&out, "a model of several words in its name", 30, TABLE_LESS_SPARE);
    assert_non_null(strstr(buf_text(&out), "\na model of several\nwords in its name   1.5 GB\n"));
    buf_release(&out);
}

/* Cells that are too wide for one line together stand in several, each below its head; where such a
 * line is too many, the columns that matter less are left out before. */
static void cells_stand_in_several_lines(void **state)
{
    (void)state;
    static const char *const heads[] = {"name", "figure", "median", "unit"};
    struct table t;
    struct buf out = {0};
    enum table_fit is;
    table_init(&t, heads, 4);
    for (int i = 0; i < 2; i++) {
        assert_ok(table_row(&t));
        assert_ok(table_cell(&t, 0, "a_long_name n=%d", i));
        assert_ok(table_cell(&t, 1, "tokens_of_all_kinds"));
        assert_ok(table_cell(&t, 2, "%d", 9 + i));
        assert_ok(table_cell(&t, 3, "tokens/s"));
    }
    assert_ok(table_fit(&t, 0, 0, 30, &out, &is));
    assert_string_equal(buf_text(&out),
                        "name\n  figure               median\n  unit\n"
                        "a_long_name n=0\n  tokens_of_all_kinds       9\n  tokens/s\n"
                        "a_long_name n=1\n  tokens_of_all_kinds      10\n  tokens/s\n");
    out.n = 0;
    assert_ok(table_fit(&t, 0, 1 << 1, 30, &out, &is));
    assert_int_equal(is, TABLE_LESS_MORE);
    assert_string_equal(buf_text(&out), "name         median  unit\n"
                                        "a_long_name\nn=0               9  tokens/s\n"
                                        "a_long_name\nn=1              10  tokens/s\n");
    buf_release(&out);
    table_release(&t);
}

static void the_points_of_numbers_are_aligned(void **state)
{
    (void)state;
    static const char *const heads[] = {"what", "speed", "n"};
    static const char *const numbers[][2] = {{"0.5093", "7"}, {"138.20", "12"}, {"5", ""}};
    struct table t;
    struct buf out = {0};
    table_init(&t, heads, 3);
    for (int i = 0; i < 3; i++) {
        assert_ok(table_row(&t));
        assert_ok(table_cell(&t, 0, "row"));
        assert_ok(table_cell(&t, 1, "%s", numbers[i][0]));
        assert_ok(table_cell(&t, 2, "%s", numbers[i][1]));
    }
    assert_ok(table_format(&t, TABLE_TEXT, &out));
    assert_string_equal(buf_text(&out), "what     speed   n\n"
                                        "row     0.5093   7\n"
                                        "row   138.20    12\n"
                                        "row     5\n");
    table_release(&t);
    buf_release(&out);
}

/* The alarm ends a table that looks at all of its rows for each cell. */
static void many_rows_take_no_time(void **state)
{
    (void)state;
    static const char *const heads[] = {"what", "n"};
    struct table t;
    struct buf out = {0};
    table_init(&t, heads, 2);
    for (int i = 0; i < 5000; i++) {
        assert_ok(table_row(&t));
        assert_ok(table_cell(&t, 0, "row"));
        assert_ok(table_cell(&t, 1, "%d", i));
    }
    alarm(20);
    assert_ok(table_format(&t, TABLE_TEXT, &out));
    assert_ok(table_format(&t, TABLE_MARKDOWN, &out));
    alarm(0);
    assert_non_null(strstr(buf_text(&out), "\nrow   4999\n"));
    assert_non_null(strstr(buf_text(&out), "\n| row  | 4999 |\n"));
    table_release(&t);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_broken),
        cmocka_unit_test(the_points_of_numbers_are_aligned),
        cmocka_unit_test(cells_stand_in_several_lines),
        cmocka_unit_test(many_rows_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
