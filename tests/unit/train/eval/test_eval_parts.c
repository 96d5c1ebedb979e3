/* What the evaluations do to a text before it is scored: windows, detokenizers, words. */
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "train/eval/spaces.h"
#include "train/eval/detokenize.h"
#include "train/eval/windows.h"

#include <string.h>

/* ---- windows ---- */

/* Each target is scored once, in order, by a window that is `length` long or reaches the end. */
static void check_windows(const struct windows *w, size_t first)
{
    static const token_id ids[64];
    struct eval_result result = {0};
    struct eval_job job = {.result = &result};
    struct passage *list;
    size_t next = first, n;
    assert_ok(windows_cut(&list, &n, w, ids, &job));
    assert_int_equal(n, result.total);
    for (size_t i = 0; i < n; i++) {
        struct passage p = list[i];
        size_t at = (size_t)(p.ids - ids), last = at + p.n - 1;
        assert_true(at == i * (size_t)w->step);
        assert_true(p.first >= 1 && p.first < p.n && p.n <= (size_t)w->length + 1);
        assert_true(p.n == (size_t)w->length + 1 || last == w->n_ids - 1);
        assert_true(at + p.first == next);
        /* All but the first have context for `length - step` tokens, and score `step`. */
        if (i > 0)
            assert_true(p.first == (size_t)(w->length - w->step) + 1);
        next = last + 1;
    }
    assert_true(next == (first < w->n_ids ? w->n_ids : first));
    mem_free(list);
}

static void every_target_is_scored_once(void **state)
{
    (void)state;
    for (size_t n_ids = 2; n_ids <= 40; n_ids++)
        for (int length = 1; length <= 20; length++)
            for (int step = 1; step <= length; step++) {
                check_windows(&(struct windows){n_ids, length, step, true}, 1);
                check_windows(&(struct windows){n_ids, length, step, false},
                              (size_t)(length - step) + 1);
            }
}

/* ---- detokenizers ---- */

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

/* ---- words ---- */

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
        cmocka_unit_test(every_target_is_scored_once),
        cmocka_unit_test(wikitext_is_put_together),
        cmocka_unit_test(ptb_is_put_together),
        cmocka_unit_test(nul_bytes_are_text),
        cmocka_unit_test(words_are_counted_at_single_spaces),
        cmocka_unit_test(spaces_are_pythons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
