#include "tests/lib/test.h"

#include "repl/terminal/number.h"

#include <locale.h>
#include <string.h>

static void numbers_are_short(void **state)
{
    (void)state;
    static const struct {
        double x;
        int digits;
        const char *text;
    } cases[] = {{0, 5, "0"},
                 {2.07331, 5, "2.0733"},
                 {-0.5, 3, "-0.5"},
                 {112379.05, 5, "112379"},
                 {1302.66, 3, "1303"},
                 {1.73e7, 5, "1.73e7"},
                 {1e6, 5, "1e6"},
                 {2.6e-5, 3, "2.6e-5"},
                 {6.31e-4, 3, "6.31e-4"},
                 {1e-3, 3, "0.001"},
                 {1.5e-12, 3, "1.5e-12"},
                 {-3e100, 2, "-3e100"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[NUMBER_TEXT];
        assert_string_equal(number_text(text, cases[i].x, cases[i].digits), cases[i].text);
    }
}

static void a_number_ends_where_its_error_does(void **state)
{
    (void)state;
    static const struct {
        double x, error;
        const char *value, *with;
    } cases[] = {{3.21234, 0.01264, "3.212", "0.013"},
                 {6.2123e-5, 1.312e-6, "6.21e-5", "0.13e-5"},
                 {-3.2e-5, 9.04e-5, "-3.2e-5", "9.0e-5"},
                 {1302.66, 190.48, "1303", "190"},
                 {1302.66, 9.96, "1303", "10"},
                 {2.8912, 0.0999, "2.89", "0.10"},
                 {0.99712, 0.0004, "0.99712", "0.00040"},
                 {0.0007, 0.0013, "0.0007", "0.0013"},
                 {99.74, 0.31, "99.74", "0.31"},
                 {1.851e7, 1.922e5, "1.851e7", "0.019e7"},
                 {2, 123456, "2", "123456"},
                 {12345, 3e6, "0.0e6", "3.0e6"},
                 {100, 0, "100.0", "0.0"},
                 {0, 0, "0", "0"},
                 {0, 0.25, "0.00", "0.25"},
                 {1e300, 1, "1.000e300", "0.000e300"},
                 {5, 1e-40, "5.000", "0.000"},
                 {-1.5, 3.7e-16, "-1.50000000000000000", "0.00000000000000037"},
                 {123456.789, 1.25e-10, "123456.78900000000", "0.00000000013"},
                 {2, 3e300, "0.0e300", "3.0e300"},
                 {-1.7e308, 1.6e308, "-1.7e308", "1.6e308"},
                 {3e-320, 1e-320, "3.0e-320", "1.0e-320"},
                 {5e-324, 0, "4.941e-324", "0.000e-324"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char value[NUMBER_TEXT], error[NUMBER_TEXT];
        number_pair(value, error, cases[i].x, cases[i].error);
        assert_string_equal(value, cases[i].value);
        assert_string_equal(error, cases[i].with);
    }
}

static void counts_have_a_letter(void **state)
{
    (void)state;
    char text[NUMBER_TEXT];
    assert_string_equal(number_count(text, 512), "512");
    assert_string_equal(number_count(text, 26400), "26K");
    assert_string_equal(number_count(text, 999600), "1.0M");
    assert_string_equal(number_count(text, 7.08e6), "7.1M");
    assert_string_equal(number_count(text, 1.5578e9), "1.6B");
}

static void points_stand_below_each_other(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"7.1722", "0.1462"}, {"1302.66", "190.48"}, {"1.6215", NULL}, {"3e6", "1.73e7"}};
    static const char *const shown[] = {"   7.1722 +-      0.1462", "1302.66   +-    190.48",
                                        "   1.6215", " 3e6      +- 1.73e7"};
    struct number_column c = {0};
    for (int i = 0; i < 4; i++)
        number_column_add(&c, rows[i][0], rows[i][1]);
    for (int i = 0; i < 4; i++) {
        struct buf b = {0};
        assert_ok(number_column_put(&b, &c, rows[i][0], rows[i][1]));
        assert_string_equal(buf_text(&b), shown[i]);
        buf_release(&b);
    }
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL)
        fail_msg("there is no locale C.UTF-8");
    struct buf b = {0};
    assert_ok(number_column_put(&b, &c, rows[0][0], rows[0][1]));
    assert_string_equal(buf_text(&b), "   7.1722 ±      0.1462");
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_short),
        cmocka_unit_test(a_number_ends_where_its_error_does),
        cmocka_unit_test(counts_have_a_letter),
        cmocka_unit_test(points_stand_below_each_other),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
