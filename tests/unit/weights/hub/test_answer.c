/* Heads of HTTP answers, right and wrong. */
#include "tests/lib/test.h"
#include "weights/hub/answer.h"

#define SHA256 "8111d5afb0715dbf5a31396d31432cb56370ba23f6650a035ea0fc8a20b4e500"
#define COMMIT "607a30d783dfa663caf39e06633721c8d4cfcd7e"

static struct answer_head a;

static void take(const char *line)
{
    answer_head_line(&a, line, strlen(line));
}

static void begin(void)
{
    answer_head_init(&a);
    take("HTTP/1.1 200 OK\r\n");
}

static void the_hub_is_understood(void **state)
{
    (void)state;
    begin();
    assert_int_equal(a.status, 200);
    take("HTTP/2 302 \r\n");
    assert_int_equal(a.status, 302);
    take("x-repo-commit: " COMMIT "\r\n");
    take("X-Linked-ETag: \"" SHA256 "\"\r\n");
    take("X-Linked-Size: 548105171\r\n");
    take("ETag: W/\"abc-1\"\r\n");
    take("Location:   https://cdn/x?y=z:1\r\n");
    take("X-Error-Code: EntryNotFound\r\n");
    take("Retry-After: 7\r\n");
    take("\r\n");
    assert_string_equal(a.commit, COMMIT);
    assert_string_equal(answer_head_etag(&a), SHA256);
    assert_string_equal(a.etag, "abc-1");
    assert_true(a.linked_bytes == 548105171);
    assert_string_equal(a.location, "https://cdn/x?y=z:1");
    assert_string_equal(a.error, "EntryNotFound");
    assert_true(a.retry_after_s == 7);
    take("HTTP/1.1 206 Partial\r\n"); /* a redirect's answer leaves nothing behind */
    assert_string_equal(answer_head_etag(&a), "");
    assert_true(a.linked_bytes == -1 && a.retry_after_s == -1);
    take("Content-Range: bytes 5-9/10\r\n");
    assert_true(a.from == 5 && a.to == 9 && a.of == 10);
    take("Content-Range: bytes */10\r\n");
    assert_true(a.from == -1 && a.to == -1 && a.of == 10);
}

static void wrong_values_count_as_none(void **state)
{
    (void)state;
    static const char *const etags[] = {"\"../../x\"", "\"a/b\"", "\"\"",   "\".x\"", "\"a b\"",
                                        "\"a\nb\"",    "",        "\"..\"", "a\\b",   "\"a%2fb\""};
    static const char *const ranges[] = {"bytes 5-4/10",
                                         "bytes 5-10/10",
                                         "bytes 5-9/*",
                                         "bytes -5-9/10",
                                         "items 5-9/10",
                                         "bytes 5-9",
                                         "bytes 99999999999999999999-5/10",
                                         "bytes 5-9/10x",
                                         "bytes 5 - 9/10"};
    static const char *const sizes[] = {"-1", "1e3", "0x10", "9999999999999999999", "5 5", ""};
    static const char *const commits[] = {
        "main", "../../etc", "607A30D783DFA663CAF39E06633721C8D4CFCD7E", COMMIT "0", ""};
    char line[256];
    begin();
    for (size_t i = 0; i < sizeof etags / sizeof *etags; i++) {
        snprintf(line, sizeof line, "ETag: %s\r\n", etags[i]);
        take(line);
        assert_string_equal(a.etag, "");
    }
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        snprintf(line, sizeof line, "Content-Range: %s\r\n", ranges[i]);
        take(line);
        assert_true(a.from == -1);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        snprintf(line, sizeof line, "X-Linked-Size: %s\r\n", sizes[i]);
        take(line);
        assert_true(a.linked_bytes == -1);
    }
    for (size_t i = 0; i < sizeof commits / sizeof *commits; i++) {
        snprintf(line, sizeof line, "X-Repo-Commit: %s\r\n", commits[i]);
        take(line);
        assert_string_equal(a.commit, "");
    }
    take("Retry-After: Wed, 21 Foo 2026 07:28:00 GMT\r\n");
    assert_true(a.retry_after_s == -1);
    take("Retry-After: Wed, 32 Oct 2026 07:28:00 GMT\r\n");
    assert_true(a.retry_after_s == -1);
    answer_head_line(&a, "ETag: \"a\0b\"", 11);
    assert_string_equal(a.etag, "");
    take("no colon");
    take("HTTP/1.1 7 What\r\n");
    assert_int_equal(a.status, 0);
}

static void long_lines_are_passed_over(void **state)
{
    (void)state;
    static char line[3 * ANSWER_LOCATION_BYTES];
    begin();
    memset(line, 'x', sizeof line);
    memcpy(line, "Location: http://a/", 19);
    answer_head_line(&a, line, sizeof line);
    assert_string_equal(a.location, "");
    memset(line, 'x', sizeof line);
    memcpy(line, "ETag: ", 6);
    answer_head_line(&a, line, 6 + HUB_ETAG_BYTES);
    assert_string_equal(a.etag, "");
    answer_head_line(&a, line, 6 + HUB_ETAG_BYTES - 1);
    assert_int_equal(strlen(a.etag), HUB_ETAG_BYTES - 1);
}

/* As seconds, or as a date in each of HTTP's forms, before or behind the answer's own date. */
static void retries_are_seconds_or_dates(void **state)
{
    (void)state;
    static const char *const dates[] = {"Wed, 21 Oct 2026 07:28:00 GMT",
                                        "Wednesday, 21-Oct-26 07:28:00 GMT",
                                        "Wed Oct 21 07:28:00 2026"};
    char line[128];
    for (size_t i = 0; i < 3; i++)
        for (int first = 0; first < 2; first++) {
            answer_head_init(&a);
            take("HTTP/1.1 429 Too Many Requests\r\n");
            if (first)
                take("Date: Wed, 21 Oct 2026 07:26:30 GMT\r\n");
            snprintf(line, sizeof line, "Retry-After: %s\r\n", dates[i]);
            take(line);
            if (!first)
                take("Date: Wed, 21 Oct 2026 07:26:30 GMT\r\n");
            assert_true(a.retry_after_s == 90);
        }
    take("Date: Wed, 21 Oct 2026 07:29:00 GMT\r\n"); /* it has passed */
    assert_true(a.retry_after_s == 0);
    take("HTTP/1.1 429 Too Many Requests\r\n");
    take("Retry-After: Sat, 01 Jan 2000 00:00:00 GMT\r\n"); /* without the answer's date: by now */
    assert_true(a.retry_after_s == 0);
    take("Retry-After: 12\r\n");
    take("Date: Wed, 21 Oct 2026 07:29:00 GMT\r\n");
    assert_true(a.retry_after_s == 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hub_is_understood),
        cmocka_unit_test(wrong_values_count_as_none),
        cmocka_unit_test(long_lines_are_passed_over),
        cmocka_unit_test(retries_are_seconds_or_dates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
