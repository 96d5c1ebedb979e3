#include "tests/lib/test.h"

#include "model/base/rng.h"
#include "repl/terminal/history_text.h"

#include <stdint.h>
#include <string.h>

static void assert_next(const char *prompt, const char **at, const char *end)
{
    struct buf got = {0};
    assert_ok(history_text_next(&got, at, end));
    assert_string_equal(buf_text(&got), prompt);
    buf_release(&got);
}

static void assert_last(const char *at, const char *end)
{
    struct buf got = {0};
    assert_ok(history_text_next(&got, &at, end));
    assert_int_equal(got.n, 0);
    buf_release(&got);
}

static void a_file_gives_what_was_added(void **state)
{
    (void)state;
    static const char *const prompts[] = {
        "#1 Tom",
        "Ben",
        "#2 of the list",
        "\"\"\"\none\n\n  two\n\"\"\"",
        "\"\"\"\n#1 milk\n#2 eggs\n\"\"\"",
        "\"\"\"\n#1700000000\n#1700000000 +\n #1\n  \n",
        "\n\nx",
        "# a",
        " ",
        "carriage\r",
    };
    enum { N = sizeof prompts / sizeof *prompts };
    struct buf text = {0};
    for (int i = 0; i < N; i++)
        assert_ok(history_text_add(&text, "#1700000000", prompts[i]));
    const char *at = buf_text(&text), *end = at + text.n;
    for (int i = 0; i < N; i++)
        assert_next(prompts[i], &at, end);
    assert_last(at, end);
    buf_release(&text);
}

static size_t draw(size_t below)
{
    static uint64_t at;
    return (size_t)(rng_uniform(5, 0, at++) * (double)below);
}

static void any_prompts_come_back(void **state)
{
    (void)state;
    enum { ROUNDS = 2000, PROMPTS = 4, LENGTH = 12 };
    static const char letters[] = "\n\n  ##17+\r\"a";
    char prompts[PROMPTS][LENGTH + 1];
    for (int round = 0; round < ROUNDS; round++) {
        struct buf text = {0};
        for (int k = 0; k < PROMPTS; k++) {
            const size_t n = 1 + draw(LENGTH);
            for (size_t i = 0; i < n; i++)
                prompts[k][i] = letters[draw(sizeof letters - 1)];
            prompts[k][n] = '\0';
            assert_ok(history_text_add(&text, "#17", prompts[k]));
        }
        const char *at = buf_text(&text), *end = at + text.n;
        for (int k = 0; k < PROMPTS; k++)
            assert_next(prompts[k], &at, end);
        assert_last(at, end);
        buf_release(&text);
    }
}

/* What readline wrote has no spaces added; what it lost in reading is there. */
static void a_file_of_readline_is_read(void **state)
{
    (void)state;
    static const char text[] = "old\n\nolder\n#1700000001\n#1 Tom\n#1700000002\n\"\"\"\n\n  #1\n \n"
                               "\"\"\"\n#1700000003\n#1700000004 +\n  #1\n \n#1700000005\nlast";
    const char *at = text, *end = text + strlen(text);
    assert_next("old", &at, end);
    assert_next("older", &at, end);
    assert_next("#1 Tom", &at, end);
    assert_next("\"\"\"\n\n  #1\n \n\"\"\"", &at, end);
    assert_next(" #1\n", &at, end);
    assert_next("last", &at, end);
    assert_last(at, end);
}

/* So that readline can read the file. */
static void no_line_is_empty_or_like_a_heading(void **state)
{
    (void)state;
    struct buf text = {0};
    assert_ok(history_text_add(&text, "#17", "#1 Tom\n\n #2\n#x"));
    assert_string_equal(buf_text(&text), "#17 +\n #1 Tom\n \n  #2\n#x\n");
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_gives_what_was_added),
        cmocka_unit_test(any_prompts_come_back),
        cmocka_unit_test(a_file_of_readline_is_read),
        cmocka_unit_test(no_line_is_empty_or_like_a_heading),
    };
    return cmocka_run_group_tests_name("history_text", tests, NULL, NULL);
}
