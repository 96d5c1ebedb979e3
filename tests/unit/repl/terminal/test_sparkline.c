#include "tests/lib/test.h"

#include "repl/terminal/sparkline.h"
#include "repl/terminal/term.h"

#include <math.h>
#include <string.h>

/* What of n values, falling from 10 to 10 / n, is drawn. */
static void draw_falling(struct buf *out, int n, int columns, bool utf8)
{
    struct sparkline s = {0};
    for (int i = 0; i < n; i++)
        sparkline_add(&s, 10.0 * (n - i) / n);
    assert_ok(sparkline_draw(out, &s, columns, utf8));
}

static void a_falling_curve_falls(void **state)
{
    (void)state;
    struct buf b = {0};
    draw_falling(&b, 8, 40, true);
    assert_string_equal(buf_text(&b), "10.00 █▇▆▅▄▃▂▁ 1.250");
    b.n = 0;
    draw_falling(&b, 8, 40, false);
    assert_string_equal(buf_text(&b), "10.00 ^^--..__ 1.250");
    b.n = 0;
    draw_falling(&b, 8, 16, false);
    assert_string_equal(buf_text(&b), "10.00 ^-._ 1.250");
    buf_release(&b);
}

/* However many values there are, and however few columns. */
static void it_fits(void **state)
{
    (void)state;
    for (int n = 3; n < 5000; n = n * 3 / 2)
        for (int columns = 20; columns < 80; columns += 11) {
            struct buf b = {0};
            draw_falling(&b, n, columns, true);
            assert_in_range(term_columns(buf_text(&b), b.n), 3, columns);
            assert_memory_equal(b.data, "10.00 █", 9);
            assert_non_null(strstr(b.data, "▁ "));
            buf_release(&b);
        }
}

static void what_is_no_curve_is_not_drawn(void **state)
{
    (void)state;
    struct buf b = {0};
    struct sparkline s = {0};
    draw_falling(&b, 2, 40, true);
    draw_falling(&b, 8, 13, true);
    sparkline_add(&s, 3);
    sparkline_add(&s, NAN);
    sparkline_add(&s, 3);
    assert_ok(sparkline_draw(&b, &s, 40, true));
    assert_int_equal(b.n, 0);
    sparkline_add(&s, 3);
    assert_ok(sparkline_draw(&b, &s, 40, true));
    assert_string_equal(buf_text(&b), "3.000 ▁▁▁ 3.000");
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_falling_curve_falls),
        cmocka_unit_test(it_fits),
        cmocka_unit_test(what_is_no_curve_is_not_drawn),
    };
    return cmocka_run_group_tests_name("sparkline", tests, NULL, NULL);
}
