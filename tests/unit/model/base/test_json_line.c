/* What is taken of a line without a tree is what jansson reads of it. */
#include "model/base/json_line.h"

#include "model/base/json.h"
#include "model/base/mem.h"
#include "model/base/rng.h"
#include "tests/lib/test.h"

static bool take(struct buf *out, const char *line, size_t n)
{
    bool got;
    out->n = 0;
    assert_ok(buf_str(out, "before"));
    assert_ok(json_line_text(out, &got, line, n, "text"));
    assert_memory_equal(out->data, "before", 6);
    assert_int_equal(out->data[out->n], 0);
    assert_true(got || out->n == 6);
    return got;
}

/* Returns whether it was taken. */
static bool compare(const char *line, size_t n)
{
    struct buf out = {0};
    json_t *value = NULL;
    char *exact = mem_alloc(n); /* so that a reader of more bytes is found out */
    memcpy(exact, line, n);
    const bool got = take(&out, exact, n);
    if (got) {
        assert_ok(json_read_line(&value, exact, n));
        const json_t *text = json_object_get(value, "text");
        assert_true(json_is_string(text));
        assert_int_equal(json_string_length(text), out.n - 6);
        assert_memory_equal(json_string_value(text), out.data + 6, out.n - 6);
    }
    json_decref(value);
    mem_free(exact);
    buf_release(&out);
    return got;
}

static const char *const ordinary[] = {
    "{\"text\": \"\"}",
    " {\"text\":\"One day, a long text that has more than eight bytes.\"}\r",
    "{\"id\": 7, \"url\": \"https://example.org/\\u00e9\", \"text\": \"two\\nlines\"}",
    "{\"text\": \"\\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u0041\\u00e9\\u20ac\\ud83d\\ude00 "
    "\\u0000.\"}",
    "{\"text\": \"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xef\xbf\xbd \xed\x9f\xbf\", \"n\": "
    "-0}",
    "{\"meta\": {\"text\": \"not this\", \"a\": [1, 2.5, -3e-7, true, false, null, [], {}]}, "
    "\"text\" : \"this\" , \"score\": 0.000123E+02, \"none\": null}",
};

/* Not JSON, not an object with such a string, or left to jansson. */
static const char *const others[] = {
    "",
    "{}",
    "[]",
    "\"text\"",
    "{\"text\": 1}",
    "{\"text\": null}",
    "{\"texts\": \"a\"}",
    "{\"a\": {\"text\": \"b\"}}",
    "{\"text\": \"a\"",
    "{\"text\": \"a\"} x",
    "{\"text\": \"a\",}",
    "{\"text\": \"a\" \"b\": 1}",
    "{\"text\": \"a\", \"text\": \"b\"}",
    "{\"text\": \"a\", \"b\": 1, \"b\": 2}",
    "{\"text\": \"a\", \"b\": {\"c\": 1, \"c\": 2}}",
    "{\"te\\u0078t\": \"a\"}",
    "{\"text\": \"a\", \"b\": 01}",
    "{\"text\": \"a\", \"b\": 1.}",
    "{\"text\": \"a\", \"b\": .5}",
    "{\"text\": \"a\", \"b\": 1e}",
    "{\"text\": \"a\", \"b\": 1e999}",
    "{\"text\": \"a\", \"b\": 18446744073709551616}",
    "{\"text\": \"a\", \"b\": NaN}",
    "{\"text\": \"a\", \"b\": truee}",
    "{\"text\": \"a\", \"b\": [1,]}",
    "{\"text\": \"a\tb\"}",
    "{\"text\": \"a\\x\"}",
    "{\"text\": \"a\\u12g4\"}",
    "{\"text\": \"a\\ud83d\"}",
    "{\"text\": \"a\\ude00\"}",
    "{\"text\": \"a\\ud83d\\u0041\"}",
    "{\"text\": \"\x80\"}",
    "{\"text\": \"\xc0\xaf\"}",
    "{\"text\": \"\xe0\x9f\xbf\"}",
    "{\"text\": \"\xed\xa0\x80\"}",
    "{\"text\": \"\xf0\x8f\xbf\xbf\"}",
    "{\"text\": \"\xf4\x90\x80\x80\"}",
    "{\"text\": \"\xf5\x80\x80\x80\"}",
    "{\"text\": \"\xe2\x82\"}",
};

static void ordinary_lines_are_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
        if (!compare(ordinary[i], strlen(ordinary[i])))
            fail_msg("not taken: %s", ordinary[i]);
}

static void others_are_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (compare(others[i], strlen(others[i])))
            fail_msg("taken: %s", others[i]);
}

/* A special byte at each place of the eight that are looked at together. */
static void special_bytes_are_seen_everywhere(void **state)
{
    (void)state;
    static const char *const inner[] = {"\\\"", "\\n", "\xc3\xa9", "\x01", "\"", "\x7f", "!", "~"};
    char line[80];
    for (int before = 0; before < 20; before++)
        for (int after = 0; after < 20; after++)
            for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
                snprintf(line, sizeof line, "{\"text\": \"%.*s%s%.*s\"}", before,
                         "abcdefghijklmnopqrst", inner[i], after, "abcdefghijklmnopqrst");
                const bool good = i != 3 && i != 4;
                if (compare(line, strlen(line)) != good)
                    fail_msg("%staken: %s", good ? "not " : "", line);
            }
}

static void changed_lines_are_never_read_otherwise(void **state)
{
    (void)state;
    static const char bytes[] = "\"\\{}[],:utn0eE.+- dD8\xc3\xa9\xed\xf0\x90\x80\x01";
    char line[300];
    int taken = 0;
    for (int i = 0; i < 200000; i++) {
        uint32_t word[4];
        rng_words(word, 7, 0, (uint64_t)i);
        const char *from = ordinary[i % (int)(sizeof ordinary / sizeof *ordinary)];
        const size_t n = strlen(from);
        memcpy(line, from, n);
        for (int k = 0; k <= i % 3; k++)
            line[(word[k] & 0xffff) % n] = bytes[(word[k] >> 16) % (sizeof bytes - 1)];
        taken += compare(line, n - (i % 5 == 0 ? word[3] % n : 0));
    }
    assert_true(taken > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_lines_are_taken),
        cmocka_unit_test(others_are_left),
        cmocka_unit_test(special_bytes_are_seen_everywhere),
        cmocka_unit_test(changed_lines_are_never_read_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
