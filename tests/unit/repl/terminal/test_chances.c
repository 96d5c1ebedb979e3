/* Bars and numbers say the same, and rows fit any screen. */
#include "repl/terminal/chances.h"

#include "model/base/rng.h"
#include "repl/terminal/term.h"
#include "tests/lib/test.h"

#include <string.h>

enum { N = 40, OTHERS = 20 };

static void is_percent(double p, const char *expected)
{
    char text[8];
    chances_percent(text, p);
    assert_string_equal(text, expected);
}

static void numbers_are_short(void **state)
{
    (void)state;
    is_percent(0, "-");
    is_percent(0.0004, "<0.1");
    is_percent(0.0006, "0.1");
    is_percent(0.412, "41.2");
    is_percent(0.9994, "99.9");
    is_percent(0.9996, ">99.9");
    is_percent(1, "100");
}

static void is_bar(double p, bool blocks, const char *expected)
{
    struct buf out = {0};
    assert_ok(chances_bar(&out, p, 4, blocks));
    assert_string_equal(buf_text(&out), expected);
    buf_release(&out);
}

static void bars_are_as_long_as_their_numbers(void **state)
{
    (void)state;
    is_bar(0, true, "    ");
    is_bar(1, true, "████");
    is_bar(0.5, true, "██  ");
    is_bar(0.53125, true, "██▏ ");
    is_bar(0.96875, true, "███▉");
    is_bar(0.5, false, "##  ");
    is_bar(1, false, "####");
}

/* Lines fit, and end in no space; those of rows have as many columns before the alternatives. */
static void check_lines(const struct buf *out, int width)
{
    const char *line = buf_text(out);
    for (const char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        assert_in_range(term_columns(line, (size_t)(end - line)), 1, width - 1);
        assert_true(end[-1] != ' ');
    }
    assert_string_equal(line, "");
}

static struct alternative any_alternative(uint64_t i)
{
    double p = (double)rng_uniform(7, 1, i), q = (double)rng_uniform(7, 2, i);
    return (struct alternative){.id = (token_id)(i * 997 % 60000),
                                .rank = (int)(i * 7919 % 50257) + 1,
                                .p_model = (float)(p * p * p),
                                .p_chain = i % 3 == 0 ? 0 : (float)(q * q)};
}

static void rows_fit_the_screen(void **state)
{
    (void)state;
    static struct choice list[N];
    static struct alternative others[N][OTHERS];
    for (int width = 40; width <= 200; width++) {
        const struct chances_look look = {width, width % 2 == 0, "", "", "", ""};
        for (int i = 0; i < N; i++) {
            for (int k = 0; k < OTHERS; k++)
                others[i][k] = any_alternative((uint64_t)(width * 800 + i * 20 + k));
            list[i] = (struct choice){.number = (size_t)i + 80,
                                      .chosen = others[i][0],
                                      .others = others[i],
                                      .n_others = OTHERS};
        }
        list[0].chosen.rank = 0;
        struct buf out = {0};
        assert_ok(chances_list(&out, &look, NULL, list, N, CHANCES_OF_ANSWER));
        check_lines(&out, width);
        out.n = 0;
        assert_ok(chances_list(&out, &look, NULL, list, N, CHANCES_OF_PROMPT));
        check_lines(&out, width);
        out.n = 0;
        assert_ok(chances_table(&out, &look, NULL, others[3], OTHERS, &others[2][5]));
        check_lines(&out, width);
        buf_release(&out);
    }
}

static void the_chosen_one_is_marked(void **state)
{
    (void)state;
    const struct chances_look look = {60, false, "", "", "", ""};
    const struct alternative list[] = {{7, 1, 0.5F, 0.75F}, {8, 2, 0.25F, 0.25F}},
                             far = {9, 30, 0.001F, 0};
    struct buf out = {0};
    assert_ok(chances_table(&out, &look, NULL, list, 2, &list[1]));
    assert_null(strstr(buf_text(&out), "> 7"));
    assert_non_null(strstr(buf_text(&out), "\n> 8"));
    out.n = 0;
    assert_ok(chances_table(&out, &look, NULL, list, 2, &far));
    assert_non_null(strstr(buf_text(&out), "\n> 9"));
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_short),
        cmocka_unit_test(bars_are_as_long_as_their_numbers),
        cmocka_unit_test(rows_fit_the_screen),
        cmocka_unit_test(the_chosen_one_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
