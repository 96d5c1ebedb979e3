#include "tests/lib/test.h"

#include "repl/terminal/plot.h"
#include "repl/terminal/term.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 200 };
static double x[N], y[N], z[N];

static void falling(struct plot_series *s)
{
    for (int i = 0; i < N; i++) {
        x[i] = i * 10;
        y[i] = 1 + 4 * exp(-i / 30.0);
        z[i] = NAN;
    }
    *s = (struct plot_series){.name = "loss", .x = x, .y = y, .n = N};
}

static int count(const char *text, char c)
{
    int n = 0;
    for (; *text != '\0'; text++)
        n += *text == c;
    return n;
}

static void a_falling_curve_falls(void **state)
{
    (void)state;
    struct plot_series s;
    struct buf b = {0};
    falling(&s);
    assert_ok(plot_draw(&b, &s, 1, "step", 60, 10, false));
    assert_int_equal(count(b.data, '\n'), 12);
    /* The first line has the beginning, the last of the field the end. */
    const char *first = strchr(b.data, '*');
    assert_true(first != NULL && first < strchr(b.data, '\n'));
    const char *line = b.data;
    int column = 0;
    for (int row = 0; row < 10; row++) {
        const char *end = strchr(line, '\n'), *last = memrchr(line, '*', (size_t)(end - line));
        if (last != NULL) {
            assert_true(last - line >= column);
            column = (int)(last - line);
        }
        assert_true(end - line <= 60);
        line = end + 1;
    }
    assert_int_equal(column, 58);
    assert_non_null(strstr(b.data, "step 1990"));
    assert_non_null(strstr(b.data, "loss 1.005"));
    buf_release(&b);
}

static void figures_on_the_axis_are_round(void **state)
{
    (void)state;
    struct plot_series s;
    struct buf b = {0};
    falling(&s);
    assert_ok(plot_draw(&b, &s, 1, "step", 60, 12, false));
    for (int v = 1; v <= 5; v++) {
        char label[16];
        snprintf(label, sizeof label, " %d +", v);
        assert_non_null(strstr(b.data, label));
    }
    buf_release(&b);
}

/* The highest mark is the first row's, the lowest the last row's, whatever the span. */
static void marks_go_from_top_to_bottom(void **state)
{
    (void)state;
    static const double spans[][2] = {{7.9, 8.2}, {0, 1}, {-0.3, 0.1}, {1e-5, 6e-4}, {2.1, 2.3}};
    static const char *const ends[][2] = {
        {"7.9", "8.2"}, {"0", "1"}, {"-0.3", "0.1"}, {"0", "0.0006"}, {"2.1", "2.3"}};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        for (int rows = 6; rows < 20; rows++) {
            double at[2] = {0, 1}, values[2] = {spans[i][0], spans[i][1]};
            struct plot_series s = {.name = "loss", .x = at, .y = values, .n = 2};
            struct buf b = {0};
            char top[24], bottom[24];
            assert_ok(plot_draw(&b, &s, 1, "step", 60, rows, false));
            snprintf(top, sizeof top, "%8s +", ends[i][1]);
            snprintf(bottom, sizeof bottom, "\n%8s +", ends[i][0]);
            assert_memory_equal(b.data, top, strlen(top));
            const char *last = b.data;
            for (int row = 1; row < rows; row++)
                last = strchr(last + 1, '\n');
            if (strncmp(last, bottom, strlen(bottom)) != 0)
                fail_msg("%d rows from %s:\n%s", rows, ends[i][0], b.data);
            buf_release(&b);
        }
}

static void braille_is_utf8_of_the_right_width(void **state)
{
    (void)state;
    struct plot_series s;
    struct buf b = {0};
    falling(&s);
    assert_ok(plot_draw(&b, &s, 1, "step", 60, 10, true));
    int dots = 0;
    for (const char *p = b.data; *p != '\0'; p++)
        dots += (unsigned char)p[0] == 0xe2 && ((unsigned char)p[1] & 0xfc) == 0xa0;
    assert_true(dots > 48);
    int rows = 0;
    for (const char *row = b.data, *end; *row != '\0'; row = end + 1, rows++) {
        end = strchr(row, '\n');
        assert_in_range(term_columns(row, (size_t)(end - row)), 1, 60);
        for (size_t i = 0, used; i < (size_t)(end - row); i += used) {
            int columns;
            used = term_character(row + i, (size_t)(end - row) - i, &columns);
            assert_true(used > 1 || (unsigned char)row[i] < 0x80); /* else it is no UTF-8 */
        }
    }
    assert_int_equal(rows, 12);
    buf_release(&b);
}

/* What has another unit has an axis of its own: a rate is no line along the bottom. */
static void frames_have_their_own_axes(void **state)
{
    (void)state;
    struct plot_series s[3];
    struct buf b = {0};
    static double rate[N], valid[N];
    falling(&s[0]);
    for (int i = 0; i < N; i++) {
        rate[i] = 1e-4 * i / N;
        valid[i] = y[i] + 0.5;
    }
    s[1] = (struct plot_series){.name = "validation_loss", .x = x, .y = valid, .n = N};
    s[2] = (struct plot_series){.name = "learning_rate", .x = x, .y = rate, .n = N, .frame = 1};
    assert_ok(plot_draw(&b, s, 3, "step", 60, 8, true));
    assert_int_equal(count(b.data, '\n'), 20);
    /* Without colours, signs tell two curves of a frame apart; one alone has dots. */
    assert_non_null(strstr(b.data, "* loss 1.005"));
    assert_non_null(strstr(b.data, "+ validation_loss 1.505"));
    assert_non_null(strstr(b.data, "5e-05"));
    assert_non_null(strstr(b.data, "\xe2\xa0"));
    b.n = 0;
    s[0].color = "<c>";
    s[1].color = "<y>";
    assert_ok(plot_draw(&b, s, 3, "step", 60, 8, true));
    assert_non_null(strstr(b.data, "<c>loss\033[0m 1.005"));
    assert_non_null(strstr(b.data, "<y>validation_loss\033[0m 1.505"));
    assert_null(strchr(b.data, '*'));
    buf_release(&b);
}

static void what_cannot_be_drawn_says_so(void **state)
{
    (void)state;
    struct plot_series s;
    struct buf b = {0};
    falling(&s);
    s.y = z;
    assert_int_equal(plot_draw(&b, &s, 1, "step", 60, 10, false), ERR_MISSING);
    assert_string_equal(err_text(), "there is nothing to plot yet");
    falling(&s);
    assert_int_equal(plot_write("x.gif", false, &s, 1, "step"), ERR_UNSUPPORTED);
    double one = 1, same[3] = {2, 2, 2}, at[3] = {0, 1, 2};
    struct plot_series flat[2] = {{.name = "point", .x = &one, .y = &one, .n = 1},
                                  {.name = "flat", .x = at, .y = same, .n = 3}};
    assert_ok(plot_draw(&b, flat, 2, "step", 10, 1, false));
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_falling_curve_falls),
        cmocka_unit_test(figures_on_the_axis_are_round),
        cmocka_unit_test(marks_go_from_top_to_bottom),
        cmocka_unit_test(braille_is_utf8_of_the_right_width),
        cmocka_unit_test(frames_have_their_own_axes),
        cmocka_unit_test(what_cannot_be_drawn_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
