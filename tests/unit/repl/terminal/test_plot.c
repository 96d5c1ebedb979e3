#include "tests/lib/test.h"

#include "repl/terminal/plot.h"
#include "repl/terminal/term.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    assert_int_equal(count(b.data, '\n'), 13);
    /* The first line of the field has the beginning, its last the end. */
    const char *line = strchr(b.data, '\n') + 1, *first = strchr(line, '*');
    assert_true(first != NULL && first < strchr(line, '\n'));
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
    assert_int_equal(column, 59);
    assert_non_null(strstr(b.data, "loss 1.0053\n"));
    buf_release(&b);
}

static void figures_on_the_axes_are_round(void **state)
{
    (void)state;
    struct plot_series s;
    struct buf b = {0};
    falling(&s);
    assert_ok(plot_draw(&b, &s, 1, "step", 60, 12, false));
    for (int v = 1; v <= 5; v++) {
        char label[24];
        snprintf(label, sizeof label, "\n   %d +", v);
        assert_non_null(strstr(b.data, label));
    }
    assert_non_null(strstr(b.data,
                           "\n     ++------------+-------------+------------+-------------\n"
                           "step  0           500           1000         1500\n"));
    buf_release(&b);
}

/* Line `row` of a picture, to be freed. */
static char *line_of(const struct buf *b, int row)
{
    const char *line = b->data;
    for (int i = 0; i < row; i++)
        line = strchr(line, '\n') + 1;
    char *copy = strndup(line, strcspn(line, "\n"));
    assert_non_null(copy);
    return copy;
}

/* Whatever the span and the height, a curve comes to the first row and to the last. */
static void no_row_is_in_vain(void **state)
{
    (void)state;
    static const double spans[][2] = {{7.94, 8.2}, {0, 1},       {-0.3, 0.1}, {1e-5, 6e-4},
                                      {2.1, 2.3},  {5.96, 8.43}, {2.3, 2.3},  {3e6, 1.73e7},
                                      {-4, -1},    {0.9, 1024}};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        for (int rows = 3; rows < 24; rows++) {
            double at[2] = {0, 1}, values[2] = {spans[i][0], spans[i][1]};
            struct plot_series s = {.name = "loss", .x = at, .y = values, .n = 2};
            struct buf b = {0};
            assert_ok(plot_draw(&b, &s, 1, "step", 60, rows, false));
            int marks = 0, curve = 0;
            for (int row = 1; row <= rows; row++) {
                char *line = line_of(&b, row);
                marks += strpbrk(line, "+|")[0] == '+';
                curve += strchr(line, '*') != NULL;
                free(line);
            }
            if (marks < 1 || (spans[i][0] < spans[i][1] && curve != rows))
                fail_msg("%d rows for %g to %g:\n%s", rows, values[0], values[1], b.data);
            buf_release(&b);
        }
}

/* Each row no wider than the terminal, and no number cut off at its edge. */
static void a_picture_fits(void **state)
{
    (void)state;
    static const int widths[] = {30, 39, 79, 119};
    struct plot_series s[2];
    falling(&s[0]);
    falling(&s[1]);
    s[1].name = "validation_loss";
    for (int i = 0; i < 8; i++) {
        struct buf b = {0};
        assert_ok(plot_draw(&b, s, 2, i < 4 ? "step" : "machine_hours", widths[i % 4], 9, i % 2));
        for (const char *row = b.data, *end; *row != '\0'; row = end + 1) {
            end = strchr(row, '\n');
            assert_in_range(term_columns(row, (size_t)(end - row)), 1, widths[i % 4]);
        }
        buf_release(&b);
    }
}

static void large_and_small_numbers_are_short(void **state)
{
    (void)state;
    double at[3] = {0, 2e6, 1e7}, large[3] = {2e6, 5e6, 1.73e7}, small[3] = {0, 5e-5, 1e-4};
    struct plot_series s[2] = {{.name = "perplexity", .x = at, .y = large, .n = 3},
                               {.name = "rate", .x = at, .y = small, .n = 3, .frame = 1}};
    struct buf b = {0};
    assert_ok(plot_draw(&b, s, 2, "tokens", 80, 8, false));
    assert_non_null(strstr(b.data, "perplexity 1.73e7\n"));
    assert_non_null(strstr(b.data, "\n 1.5e7 +"));
    assert_non_null(strstr(b.data, "\n  1e-4 +"));
    assert_non_null(strstr(
        b.data,
        "\ntokens  0             2M            4M             6M            8M          10M\n"));
    assert_null(strstr(b.data, "e+"));
    assert_null(strstr(b.data, "e-0"));
    buf_release(&b);
}

static void draw_span(struct buf *b, const double x_span[2], const double y_span[2],
                      const char *x_name, int width)
{
    double at[2] = {x_span[0], x_span[1]}, values[2] = {y_span[0], y_span[1]};
    struct plot_series s = {.name = "rate", .x = at, .y = values, .n = 2};
    b->n = 0;
    assert_ok(plot_draw(b, &s, 1, x_name, width, 8, false));
}

/* A learning rate's: all numbers of an axis are written one way, and none is 0.0000. */
static void small_numbers_are_written_one_way(void **state)
{
    (void)state;
    struct buf b = {0};
    draw_span(&b, (double[2]){0, 1000}, (double[2]){1e-5, 9.7e-4}, "step", 79);
    assert_non_null(strstr(b.data, "\n1e-3 +"));
    assert_non_null(strstr(b.data, "\n5e-4 +"));
    assert_non_null(strstr(b.data, "\n   0 +"));
    draw_span(&b, (double[2]){0, 1000}, (double[2]){6e-4, 2.2e-3}, "step", 79);
    assert_non_null(strstr(b.data, "\n  2e-3 +"));
    assert_non_null(strstr(b.data, "\n1.5e-3 +"));
    assert_non_null(strstr(b.data, "\n  1e-3 +"));
    /* Of a narrow span of larger ones the digits that differ are there. */
    draw_span(&b, (double[2]){0, 1000}, (double[2]){2.0001, 2.0006}, "step", 79);
    assert_non_null(strstr(b.data, "\n2.0002 +"));
    buf_release(&b);
}

/* Also of those at the edges, whose number has no room on one side. */
static void each_mark_has_its_number(void **state)
{
    (void)state;
    static const double spans[][2] = {{0, 1e5},     {1, 1.05},      {100, 102},      {1, 1.003},
                                      {50, 50.003}, {1e6, 1.004e6}, {0, 3.21e-4},    {0, 0.0321},
                                      {1e-5, 9e-4}, {1000, 1000.4}, {0, 2621440000}, {7, 640}};
    static const char *const names[] = {"epoch", "hours", "machine_hours"};
    static const int widths[] = {39, 79, 119};
    struct buf b = {0};
    for (size_t i = 0; i < 9 * (sizeof spans / sizeof *spans); i++) {
        const char *name = names[i % 3];
        const int width = widths[i / 3 % 3];
        draw_span(&b, spans[i / 9], (double[2]){1, 2}, name, width);
        char *line = line_of(&b, 9), *labels = line_of(&b, 10), *rest = NULL;
        int marks = count(line, '+') - 1, words = 0;
        for (char *w = strtok_r(labels, " ", &rest); w != NULL; w = strtok_r(NULL, " ", &rest))
            words += strcmp(w, name) != 0;
        if (marks < 2 || words != marks)
            fail_msg("%d marks, %d numbers in %d columns:\n%s", marks, words, width, b.data);
        free(line);
        free(labels);
    }
    buf_release(&b);
}

/* Marks between which a double has no number would never be passed. */
static void numbers_beyond_counting_are_drawn(void **state)
{
    (void)state;
    double at[2] = {1e17, 1e17 + 16}, values[2] = {1, 2};
    struct plot_series s = {.name = "loss", .x = at, .y = values};
    for (int i = 0; i < 4; i++) {
        struct buf b = {0};
        s.n = 1 + i % 2;
        assert_ok(plot_draw(&b, &s, 1, i < 2 ? "step" : "hours", 60, 8, false));
        assert_int_equal(count(b.data, '\n'), 11);
        assert_non_null(strchr(b.data, '*'));
        buf_release(&b);
    }
}

/* With colours and without: a colour does not stand alone. */
static void curves_are_told_apart_by_signs(void **state)
{
    (void)state;
    struct plot_series s[2];
    struct buf b = {0};
    static double other[N], few_x[3] = {0, 1000, 1990}, few[3] = {5, 4, 3};
    falling(&s[0]);
    for (int i = 0; i < N; i++)
        other[i] = y[i] + 1;
    for (int colors = 0; colors < 2; colors++) {
        s[0].color = colors ? "<c>" : NULL;
        s[1] = (struct plot_series){
            .name = "validation_loss", .x = x, .y = other, .n = N, .color = colors ? "<y>" : NULL};
        b.n = 0;
        assert_ok(plot_draw(&b, s, 2, "step", 60, 10, true));
        assert_non_null(strstr(b.data, colors ? "<c>● loss\033[0m 1.0053" : "● loss 1.0053"));
        assert_non_null(strstr(b.data, "▲ validation_loss"));
        int circles = 0, triangles = 0;
        for (const char *p = strchr(b.data, '\n'); *p != '\0'; p++) {
            circles += strncmp(p, "●", 3) == 0;
            triangles += strncmp(p, "▲", 3) == 0;
        }
        assert_int_equal(circles, 5);
        assert_int_equal(triangles, 4);
    }
    /* Of few points each has its sign. */
    s[1] = (struct plot_series){.name = "validation_loss", .x = few_x, .y = few, .n = 3};
    b.n = 0;
    assert_ok(plot_draw(&b, s, 2, "step", 60, 10, true));
    int triangles = 0;
    for (const char *p = strchr(b.data, '\n'); (p = strstr(p, "▲")) != NULL; p++)
        triangles++;
    assert_int_equal(triangles, 3);
    buf_release(&b);
}

static void frames_share_the_height(void **state)
{
    (void)state;
    static const struct {
        int n_frames, width, height, rows;
    } cases[] = {{1, 79, 24, 15}, {1, 119, 40, 23}, {1, 39, 24, 8}, {1, 79, 10, 5},
                 {2, 79, 24, 9},  {3, 79, 24, 5},   {4, 79, 10, 4}, {0, 79, 24, 15}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(plot_frame_rows(cases[i].n_frames, cases[i].width, cases[i].height),
                         cases[i].rows);
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
    assert_int_equal(rows, 13);
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
    /* Two titles, and one x axis below both. */
    assert_int_equal(count(b.data, '\n'), 20);
    assert_non_null(strstr(b.data, "● loss 1.0053   ▲ validation_loss 1.5053\n"));
    assert_non_null(strstr(b.data, "      learning_rate 9.95e-5\n"));
    assert_non_null(strstr(b.data, "5e-5"));
    assert_non_null(strstr(b.data, "\xe2\xa0"));
    buf_release(&b);
}

/* The alarm ends a picture that has no last mark. */
static void the_least_and_the_largest_numbers_are_drawn(void **state)
{
    (void)state;
    double at[2] = {0, 1};
    double ends[][2] = {{5e-324, 1e-323},   {0, 5e-324},          {-1e-323, 5e-324},
                        {1e-310, 1e-310},   {1e-300, 2e-300},     {-1e-310, 1e-310},
                        {0, 1e-308},        {1e-290, 1.001e-290}, {1e307, 1.7e308},
                        {-1.7e308, 1.7e308}};
    struct buf b = {0};
    alarm(20);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct plot_series up = {.name = "loss", .x = at, .y = ends[i], .n = 2};
        struct plot_series across = {.name = "loss", .x = ends[i], .y = at, .n = 2};
        for (int braille = 0; braille < 2; braille++) {
            b.n = 0;
            assert_ok(plot_draw(&b, &up, 1, "step", 60, 10, braille));
            assert_int_equal(count(b.data, '\n'), 13);
            b.n = 0;
            assert_ok(plot_draw(&b, &across, 1, "step", 60, 10, braille));
            assert_int_equal(count(b.data, '\n'), 13);
        }
    }
    alarm(0);
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
        cmocka_unit_test(figures_on_the_axes_are_round),
        cmocka_unit_test(no_row_is_in_vain),
        cmocka_unit_test(a_picture_fits),
        cmocka_unit_test(large_and_small_numbers_are_short),
        cmocka_unit_test(small_numbers_are_written_one_way),
        cmocka_unit_test(each_mark_has_its_number),
        cmocka_unit_test(numbers_beyond_counting_are_drawn),
        cmocka_unit_test(curves_are_told_apart_by_signs),
        cmocka_unit_test(frames_share_the_height),
        cmocka_unit_test(braille_is_utf8_of_the_right_width),
        cmocka_unit_test(frames_have_their_own_axes),
        cmocka_unit_test(the_least_and_the_largest_numbers_are_drawn),
        cmocka_unit_test(what_cannot_be_drawn_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
