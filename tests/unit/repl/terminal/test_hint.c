/* What a sentence tells to type is what works where it is read. */
#include "repl/terminal/hint.h"
#include "model/base/file.h"
#include "tests/lib/test.h"

#include <string.h>

static bool in_shell(const char *name, size_t n)
{
    return n == 5 && memcmp(name, "train", 5) == 0;
}

static void expect_hint(const char *sentence, const char *expected)
{
    struct buf out = {0};
    assert_ok(hint_sentence(&out, sentence));
    assert_string_equal(buf_text(&out), expected);
    buf_release(&out);
}

static void commands_are_named_as_they_are_typed(void **state)
{
    (void)state;
    const char *sentence = "a `b`: `:train resume` or `:train`, not `:save PATH`, `";
    hint_place(NULL);
    expect_hint(sentence, sentence);
    hint_place(in_shell);
    expect_hint(sentence, "a `b`: `prattle train resume` or `prattle train`, not `:save PATH`, `");
    expect_hint("", "");
    hint_place(NULL);
}

static void a_path_is_one_word(void **state)
{
    (void)state;
    char out[64];
    assert_string_equal(file_word(out, sizeof out, "runs/a-b_1.x"), "runs/a-b_1.x");
    assert_string_equal(file_word(out, sizeof out, "runs/my run"), "'runs/my run'");
    assert_string_equal(file_word(out, sizeof out, "it's"), "\"it's\"");
    assert_string_equal(file_word(out, sizeof out, "it's $x"), "it's $x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_named_as_they_are_typed),
        cmocka_unit_test(a_path_is_one_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
