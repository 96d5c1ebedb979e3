/* The pretokenizer against Python's regex module with the published pattern. */
#include "tests/lib/test.h"

#include "model/base/rng.h"
#include "model/tokenizer/pretokenize.h"
#include "tests/lib/tokenizer_golden.h"

#include <openssl/evp.h>
#include <utf8proc.h>

/* "|" between the pieces of text. */
static void cut(const char *text, size_t n, const char *expected)
{
    struct buf b = {0};
    for (size_t at = 0; at < n;) {
        size_t piece = pretokenize_next(text + at, n - at);
        assert_in_range(piece, 1, n - at);
        if (at > 0)
            assert_ok(buf_char(&b, '|'));
        assert_ok(buf_add(&b, text + at, piece));
        at += piece;
    }
    assert_string_equal(buf_text(&b), expected);
    buf_release(&b);
}

static void cuts_as_the_pattern(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"My name is", "My| name| is"},
        {"I'm we'll they'd", "I|'m| we|'ll| they|'d"},
        {"IT'S 'tis ''s 'l", "IT|'|S| '|tis| ''|s| '|l"},
        {"'lll're'", "'ll|l|'re|'"},
        {"a  b", "a| | b"},
        {"a   \n b", "a|   \n| b"},
        {"a \t", "a| \t"},
        {"\n\nx", "\n|\n|x"},
        {" \t1", " |\t|1"},
        {"  ", "  "},
        {"x1.5%", "x|1|.|5|%"},
        {" \xc2\xbd\xe2\x85\xa7", " \xc2\xbd\xe2\x85\xa7"},          /* Half and Roman eight */
        {"e\xcc\x81t", "e|\xcc\x81|t"},                              /* a mark is no letter */
        {"a\xc2\xa0\xe3\x80\x80z", "a|\xc2\xa0|\xe3\x80\x80|z"},     /* wide blanks */
        {"a\x1c\xe2\x80\x8b z", "a|\x1c\xe2\x80\x8b| z"},            /* no blanks at all */
        {"a\x80\xff z", "a|\x80\xff| z"},                            /* stray bytes */
        {" \xc0\xa0\xed\xa0\x80!", " \xc0\xa0\xed\xa0\x80!"},        /* overlong, surrogate */
        {"a\xf4\x90\x80\x80\xe4\xb8", "a|\xf4\x90\x80\x80\xe4\xb8"}, /* beyond, cut short */
        {"\xe6\xb5\xb7\xe3\x81\xaf 2", "\xe6\xb5\xb7\xe3\x81\xaf| 2"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cut(rows[i][0], strlen(rows[i][0]), rows[i][1]);
}

static void cuts_as_the_oracle(void **state)
{
    (void)state;
    json_t *cases = golden_json(GOLDEN "cases.json"), *row;
    size_t i, k;
    if (strverscmp(utf8proc_unicode_version(), "15") < 0) {
        print_message("# left out: the oracle's cuts (its Unicode is 15.0.0, utf8proc's %s)\n",
                      utf8proc_unicode_version());
        json_decref(cases);
        return;
    }
    assert_true(json_array_size(cases) > 400);
    json_array_foreach(cases, i, row)
    {
        const json_t *text = json_object_get(row, "text"), *pieces = json_object_get(row, "pieces");
        const char *at = json_string_value(text);
        size_t n = json_string_length(text);
        for (k = 0; n > 0; k++) {
            size_t piece = pretokenize_next(at, n);
            assert_int_equal(piece, json_integer_value(json_array_get(pieces, k)));
            at += piece;
            n -= piece;
        }
        assert_int_equal(k, json_array_size(pieces));
    }
    json_decref(cases);
}

static void classes_of_every_code_point(void **state)
{
    (void)state;
    json_t *golden = golden_json(GOLDEN "classes.json");
    const char *version = json_string_value(json_object_get(golden, "unicode"));
    if (strcmp(version, utf8proc_unicode_version()) != 0) {
        print_message("# left out: classes of all code points (utf8proc has Unicode %s, the "
                      "golden file %s)\n",
                      utf8proc_unicode_version(), version);
        json_decref(golden);
        return;
    }
    EVP_MD_CTX *sha = EVP_MD_CTX_new();
    unsigned char hash[EVP_MAX_MD_SIZE];
    char hex[65];
    EVP_DigestInit_ex(sha, EVP_sha256(), NULL);
    for (int c = 0; c < 0x110000; c++) {
        utf8proc_uint8_t bytes[4];
        size_t n = (size_t)utf8proc_encode_char(c, bytes), length;
        if (c >= 0xd800 && c < 0xe000)
            continue;
        enum char_class class = char_class((const char *)bytes, n, &length);
        assert_int_equal(length, n);
        EVP_DigestUpdate(sha, &"OLNS"[class], 1);
    }
    EVP_DigestFinal_ex(sha, hash, NULL);
    EVP_MD_CTX_free(sha);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    assert_string_equal(hex, json_string_value(json_object_get(golden, "sha256")));
    json_decref(golden);
}

/* Any bytes are cut without loss, and where a piece ends does not depend on what is not
 * there: the bytes past n are never looked at (the address sanitizer watches). */
static void cuts_any_bytes(void **state)
{
    (void)state;
    static const char common[] = "ab 1\n'sre\xc3\xa9\xe2\x80\xa8\xf0\x9f\xff\x80";
    for (uint64_t i = 0; i < 3000; i++) {
        size_t n = 1 + (size_t)(rng_uniform(1, i, 0) * 24), at = 0;
        char *text = malloc(n);
        for (size_t k = 0; k < n; k++) {
            double u = rng_uniform(1, i, k + 1);
            text[k] =
                (char)(i % 2 == 0 ? (int)(u * 256) : common[(size_t)(u * (sizeof common - 1))]);
        }
        while (at < n) {
            size_t piece = pretokenize_next(text + at, n - at);
            assert_in_range(piece, 1, n - at);
            at += piece;
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_as_the_pattern), cmocka_unit_test(cuts_as_the_oracle),
        cmocka_unit_test(classes_of_every_code_point), cmocka_unit_test(cuts_any_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
