/* What the alternatives of a range match, as regular expressions of the C library. */
#include "sampling/schema/json_schema_integer.h"

#include "tests/lib/test.h"

#include <inttypes.h>
#include <regex.h>

/* Without quotes and spaces, the alternatives are such an expression. */
static void compile(regex_t *out, int64_t least, int64_t most)
{
    struct buf grammar = {0}, plain = {0};
    assert_ok(integer_range_grammar(&grammar, least, most));
    assert_ok(buf_str(&plain, "^("));
    for (const char *at = grammar.data; *at != '\0'; at++)
        if (*at != '"' && *at != ' ')
            assert_ok(buf_char(&plain, *at));
    assert_ok(buf_str(&plain, ")$"));
    assert_int_equal(regcomp(out, plain.data, REG_EXTENDED | REG_NOSUB), 0);
    buf_release(&grammar);
    buf_release(&plain);
}

static bool matches(const regex_t *range, const char *text)
{
    return regexec(range, text, 0, NULL, 0) == 0;
}

static void check_value(const regex_t *range, int64_t least, int64_t most, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    if (matches(range, text) != (least <= value && value <= most))
        fail_msg("%s of %" PRId64 "..%" PRId64, text, least, most);
}

static void test_small(void **state)
{
    (void)state;
    static const char *const others[] = {"", "-", "-0", "00", "01", "+1", "1.0", "-01", "--1"};
    for (int64_t least = -21; least <= 21; least++)
        for (int64_t most = least; most <= 112; most += most < 21 ? 1 : 13) {
            regex_t range;
            compile(&range, least, most);
            for (int64_t v = -130; v <= 130; v++)
                check_value(&range, least, most, v);
            for (size_t i = 0; i < sizeof others / sizeof *others; i++)
                assert_false(matches(&range, others[i]));
            regfree(&range);
        }
}

/* At powers of ten and the ends of 64 bits. */
static void test_large(void **state)
{
    (void)state;
    int64_t ends[64], power = 1;
    int n = 0;
    for (int k = 0; k < 19; k++, power = k < 19 ? power * 10 : power) {
        ends[n++] = power - k % 2;
        ends[n++] = -power - k % 3;
    }
    ends[n++] = INT64_MIN;
    ends[n++] = INT64_MIN + 1;
    ends[n++] = INT64_MAX;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            regex_t range;
            if (ends[a] > ends[b])
                continue;
            compile(&range, ends[a], ends[b]);
            for (int c = 0; c < n; c++) {
                check_value(&range, ends[a], ends[b], ends[c]);
                if (ends[c] > INT64_MIN)
                    check_value(&range, ends[a], ends[b], ends[c] - 1);
                if (ends[c] < INT64_MAX)
                    check_value(&range, ends[a], ends[b], ends[c] + 1);
            }
            assert_false(matches(&range, "9223372036854775808"));
            assert_false(matches(&range, "-9223372036854775809"));
            regfree(&range);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small), cmocka_unit_test(test_large)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
