/* Spaces and words as Python's str has them: strip(), split() and split(" "). */
#include "tests/lib/test.h"

#include "train/eval/spaces.h"

#include <string.h>

struct text_case {
    const char *in, *out;
};

static struct span span(const char *text)
{
    return (struct span){text, strlen(text)};
}

static void words_are_counted_at_single_spaces(void **state)
{
    (void)state;
    /* len(s.strip().split(" ")) */
    static const struct {
        const char *text;
        size_t n;
    } cases[] = {{"", 1},
                 {"   ", 1},
                 {"one", 1},
                 {" one two \n", 2},
                 {"one  two", 3}, /* two spaces have an empty piece between */
                 {"one\ntwo three", 2},
                 {"\n \n = A = \n", 3},
                 {"a\xc2\xa0"
                  "b c",
                  2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(span_pieces(span(cases[i].text)), cases[i].n);
}

static void spaces_are_pythons(void **state)
{
    (void)state;
    static const struct text_case stripped[] = {
        {"", ""},
        {" \t\n\v\f\r\x1c\x1d\x1e\x1f", ""},
        {"\xc2\x85\xc2\xa0\xe1\x9a\x80 a \xe2\x80\x83\xe3\x80\x80", "a"},
        {"\xe2\x80\x8b a", "\xe2\x80\x8b a"}, /* U+200B is none */
        {" a b ", "a b"},
        {"a\xff ", "a\xff"},
    };
    for (size_t i = 0; i < sizeof stripped / sizeof *stripped; i++) {
        struct span s = span_strip(span(stripped[i].in));
        assert_int_equal(s.n, strlen(stripped[i].out));
        assert_memory_equal(s.text, stripped[i].out, s.n);
    }
    static const struct text_case last[] = {{"", ""},
                                            {"  ", ""},
                                            {"one", "one"},
                                            {"one two", "two"},
                                            {"one two\xe2\x80\x83\n", "two"},
                                            {"one\xc2\xa0two.\"", "two.\""}};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
        struct span s = span_last_word(span(last[i].in));
        assert_int_equal(s.n, strlen(last[i].out));
        assert_memory_equal(s.text, last[i].out, s.n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_counted_at_single_spaces),
        cmocka_unit_test(spaces_are_pythons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
