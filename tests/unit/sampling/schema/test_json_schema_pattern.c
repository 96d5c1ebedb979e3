/* Regular expressions as grammars, and those that are refused. */
#include "sampling/schema/json_schema_pattern.h"

#include "sampling/schema/gbnf.h"
#include "tests/lib/test.h"

static const struct text_length any = {0, GBNF_OPEN};

#define DOT "([^\"\\\\\\x00-\\x1f\\x7f\\u2028\\u2029] | \"\\\\\\\"\" | \"\\\\\\\\\")"

static void test_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *grammar;
    } cases[] = {
        {"", "char*"},
        {"^$", ""},
        {"^()(|)a{0}$", ""},
        {"abc", "char* \"abc\" char*"},
        {"^a", "\"a\" char*"},
        {"a$", "char* \"a\""},
        {"^a|b$|^$", "(\"a\" char* | char* \"b\")?"},
        {"^ab*c+d?e{2}f{2,}g{2,3}h*?$",
         "\"a\" \"b\"* \"c\"+ \"d\"? \"e\"{2} \"f\"{2,} \"g\"{2,3} \"h\"*"},
        {"^(ab|(?:c)|(?<n>d))+$", "(\"ab\" | (\"c\") | (\"d\"))+"},
        {"^(a|){2}$", "(\"a\"){0,2}"},
        {"^\"\\\\+\\/\\n\\u00e9\\x41\\cA$", "\"\\\\\\\"\" (\"\\\\\\\\\")+ \"/\\\\n\xc3\xa9"
                                            "A\\\\u0001\""},
        {"^[a-cx\\-\\]^]$", "[\\-\\]\\^a-cx]"},
        {"^[\\w.-]\\d[\\d-x]$", "[\\-.0-9A-Z_a-z] [0-9] [\\-0-9x]"},
        {"^[\\t\"\\\\a]$", "([a] | \"\\\\t\" | \"\\\\\\\"\" | \"\\\\\\\\\")"},
        {"^[^,a-c]$", "([^\"\\\\\\x00-\\x1f\\x7f,a-c] | \"\\\\\\\"\" | \"\\\\\\\\\")"},
        {"^.$", DOT},
        {"^[\xc3\xa9-\xe4\xb8\x80]\xf0\x9f\x98\x80{2}[\\ud83d\\ude00-\\u{1f64f}]$",
         "[\\u00e9-\\u4e00] \"\xf0\x9f\x98\x80\"{2} [\xf0\x9f\x98\x80-\xf0\x9f\x99\x8f]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        size_t parts;
        assert_ok(pattern_grammar(&out, &parts, cases[i].pattern, any));
        assert_string_equal(buf_text(&out), cases[i].grammar);
        buf_release(&out);
    }
}

static void test_lengths(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        struct text_length length;
        const char *grammar; /* NULL: refused */
    } cases[] = {
        {"^[ab]*$", {2, 3}, "[ab]{2,3}"},
        {"^[ab]{1,9}$", {0, 3}, "[ab]{1,3}"},
        {"^[ab]{4}$", {0, 3}, NULL},
        {"^a(b|cd)?$", {1, 3}, "\"a\" (\"b\" | \"cd\")?"},
        {"^a(b|cd)?$", {2, 3}, NULL},
        {"^a(b|cd)?$", {1, 2}, NULL},
        {"^[ab]*$|^c$", {0, 3}, NULL},
        {"a", {1, GBNF_OPEN}, "char* \"a\" char*"},
        {"^\\u{1f600}\"$", {2, 2}, "\"\xf0\x9f\x98\x80\\\\\\\"\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        size_t parts;
        int rc = pattern_grammar(&out, &parts, cases[i].pattern, cases[i].length);
        assert_int_equal(rc, cases[i].grammar != NULL ? 0 : ERR_UNSUPPORTED);
        if (rc == 0)
            assert_string_equal(buf_text(&out), cases[i].grammar);
        buf_release(&out);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        int code;
        const char *sentence;
    } cases[] = {
        {"(a", ERR_FORMAT, "a group has no )"},
        {"a)", ERR_FORMAT, "a ) closes no group"},
        {"[a", ERR_FORMAT, "a class has no ]"},
        {"[b-a]", ERR_FORMAT, "a range of a class is out of order"},
        {"+", ERR_FORMAT, "a quantifier has nothing to repeat"},
        {"a**", ERR_FORMAT, "a quantifier follows another"},
        {"a{,2}", ERR_FORMAT, "a { begins no {m,n}"},
        {"a{3,2}", ERR_FORMAT, "a { begins no {m,n}"},
        {"a\\", ERR_FORMAT, "a backslash is the last character"},
        {"\\y", ERR_FORMAT, "\\y is no escape"},
        {"\\u{110000}", ERR_FORMAT, "\\u needs four hexadecimal digits, or some in braces"},
        {"\\xg0", ERR_FORMAT, "\\x needs two hexadecimal digits"},
        {"\\ud800", ERR_UNSUPPORTED, "half a surrogate pair is no character"},
        {"(a)\\1", ERR_UNSUPPORTED, "a backreference (\\1) is not supported"},
        {"\\bword", ERR_UNSUPPORTED, "a word boundary (\\b) is not supported"},
        {"\\p{L}", ERR_UNSUPPORTED, "a Unicode property (\\p) is not supported"},
        {"a(?!b)", ERR_UNSUPPORTED, "a group that begins with (?! is not supported"},
        {"(?<=a)b", ERR_UNSUPPORTED, "a group that begins with (?<= is not supported"},
        {"(^a)", ERR_UNSUPPORTED, "^ is supported only at the ends"},
        {"a$b", ERR_UNSUPPORTED, "$ is supported only at the ends"},
        {"(a*)*", ERR_UNSUPPORTED, "it repeats without bound what may be empty"},
        {"[]", ERR_RANGE, "a class matches no character of a JSON text"},
        {"a{4001}", ERR_RANGE, "it repeats something more than 4000 times"},
        {"(a{200}){200}", ERR_RANGE, "it has more than 20000 parts, copies of repetitions counted"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        size_t parts;
        assert_int_equal(pattern_grammar(&out, &parts, cases[i].pattern, any), cases[i].code);
        assert_string_equal(err_text(), cases[i].sentence);
        buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patterns),
                                       cmocka_unit_test(test_lengths),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
