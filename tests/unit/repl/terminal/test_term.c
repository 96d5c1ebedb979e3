/* Text made safe for a terminal. */
#include "tests/lib/test.h"

#include "repl/terminal/term.h"

#include <string.h>

static void text_is_made_visible(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"plain\n\ttext", "plain\n\ttext"},
        {"\033]0;x\a", "\\x1b]0;x\\x07"},
        {"a\rb\bc\x7f", "a\\x0db\\x08c\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b31m"},
        {"\xff\xc3", "\\xff\\xc3"},
        {"h\xc3\xa9 \xf0\x9f\x98\x80", "h\xc3\xa9 \xf0\x9f\x98\x80"},
        {"\xe2\x80\xae"
         "abc",
         "\\xe2\\x80\\xae"
         "abc"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = {0};
        assert_ok(term_visible(&out, cases[i][0], strlen(cases[i][0])));
        assert_string_equal(buf_text(&out), cases[i][1]);
        buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_made_visible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
