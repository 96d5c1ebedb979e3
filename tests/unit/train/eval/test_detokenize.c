/* Detokenizers, rule after rule, of text made by hand. */
#include "tests/lib/test.h"

#include "train/eval/detokenize.h"

#include <string.h>

struct text_case {
    const char *in, *out;
};

static void check_rules(int (*rules)(struct buf *), const struct text_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct buf text = {0};
        assert_ok(buf_str(&text, cases[i].in));
        assert_ok(rules(&text));
        assert_string_equal(buf_text(&text), cases[i].out);
        buf_release(&text);
    }
}

static void wikitext_is_put_together(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"", ""},
        {"as it is", "as it is"},
        /* by hand, rule after rule */
        {"the sailors ' houses", "the sailors' houses"},
        {"well @-@ known , 365 @,@ 000 or 3 @.@ 5", "well-known, 365,000 or 3.5"},
        {"a : b ; c . d ! e ? f , g", "a: b; c. d! e? f, g"},
        {"a .", "a ."}, /* nothing behind the stop */
        {"( a ) [ b ] { c } \" d \" ' e '", "(a) [b] {c} \"d\" 'e'"},
        {"(\t\n a b \xc2\xa0 )", "(a b)"},
        {"(   )", "()"},
        {"( a ( b ) c )", "(a ( b) c )"}, /* to the next closing sign, whatever opens between */
        {"( never closed [ x ]", "( never closed [x]"},
        {") ( a )", ") (a)"},
        {"\" a \" b \" c \"", "\"a\" b \"c\""},
        {"\" a \" b \" c", "\"a\" b \" c"},
        {"' a ' b ' c", "'a' b ' c"},
        {"it 's 4 o 'clock", "it's 4 o'clock"}, /* a pair, whose spaces go before the rule for 's */
        {" = A = ", " = A = "},
        {"= = A = =", "== A =="},
        {"= = = A = = =", "=== A ==="},
        {"= = = = A = = = =", "==== A ===="},
        {"12 \xc2\xb0 C", "12\xc2\xb0"
                          "C"},
        {"a \n b\n c \nd", "a\nb\nc\nd"},
        {" N of N N ", " 1 of 1 N "},
        {"what 's", "what's"},
        {"\xff ( \xff ) \xff", "\xff (\xff) \xff"},
    };
    check_rules(detokenize_wikitext, cases, sizeof cases / sizeof *cases);
}

static void ptb_is_put_together(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"", ""},
        {"the sea 's towns do n't", "the sea's towns don't"},
        {"a \n b", "a\nb"},
        {"for N years", "for1 years"},
        {"$ N million", "$1 million"},
        {"# N a", "#1 a"},
        {"$ 1 # 1 'x", "$1 #1'x"},
    };
    check_rules(detokenize_ptb, cases, sizeof cases / sizeof *cases);
}

static void nul_bytes_are_text(void **state)
{
    (void)state;
    struct buf text = {0};
    assert_ok(buf_add(&text, "a\0 , b ( \0 )", 12));
    assert_ok(detokenize_wikitext(&text));
    assert_int_equal(text.n, 9);
    assert_memory_equal(text.data, "a\0, b (\0)", 9);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wikitext_is_put_together),
        cmocka_unit_test(ptb_is_put_together),
        cmocka_unit_test(nul_bytes_are_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
