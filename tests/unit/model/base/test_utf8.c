/* UTF-8 as utf8proc knows it. */
#include "tests/lib/test.h"

#include "model/base/rng.h"
#include "model/base/utf8.h"

#include <string.h>
#include <utf8proc.h>

/* Character by character. */
static size_t count_valid(const char *text, size_t n)
{
    size_t i = 0;
    utf8proc_int32_t c;
    for (utf8proc_ssize_t k; i < n; i += (size_t)k)
        if ((k = utf8proc_iterate((const utf8proc_uint8_t *)text + i, (utf8proc_ssize_t)(n - i),
                                  &c)) < 1)
            break;
    return i;
}

static void all_of_four_bytes(void **state)
{
    (void)state;
    static const unsigned char some[] = {0,    'a',  0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                         0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
                                         0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
    enum { N = sizeof some };
    for (int i = 0; i < N * N * N * N; i++) {
        const char text[] = {(char)some[i % N], (char)some[i / N % N], (char)some[i / N / N % N],
                             (char)some[i / N / N / N]};
        for (size_t n = 1; n <= 4; n++)
            if (utf8_valid(text, n) != count_valid(text, n))
                fail_msg("%02x %02x %02x %02x: %zu of %zu", some[i % N], some[i / N % N],
                         some[i / N / N % N], some[i / N / N / N], utf8_valid(text, n), n);
    }
}

/* What is wrong is found wherever it is, between ASCII and other characters. */
static void damage_is_found_anywhere(void **state)
{
    (void)state;
    static const char *const words[] = {"a long run of ASCII, of more than 32 bytes ",
                                        "\xc3\xa9",
                                        "\xe6\x97\xa5",
                                        "\xf0\x9f\xa6\x8a",
                                        " ",
                                        "\n"};
    for (uint64_t i = 0; i < 2000; i++) {
        char text[400];
        size_t n = 0;
        uint32_t w[4];
        for (uint64_t k = 0; n < 300; k++) {
            rng_words(w, 5, i, k);
            const char *word = words[w[0] % 6];
            memcpy(text + n, word, strlen(word));
            n += strlen(word);
        }
        assert_int_equal(utf8_valid(text, n), n);
        text[w[1] % n] = (char)w[2];
        assert_int_equal(utf8_valid(text, n), count_valid(text, n));
        size_t ascii = 0;
        while (ascii < n && (unsigned char)text[ascii] < 0x80)
            ascii++;
        assert_int_equal(utf8_ascii(text, n), ascii);
    }
    assert_int_equal(utf8_valid("", 0), 0);
}

static void beginnings_are_told_from_damage(void **state)
{
    (void)state;
    static const char *const cut[] = {"\xc3",     "\xe6",     "\xe6\x97", "\xe0\xa0",
                                      "\xf0",     "\xf0\x9f", "\xf4\x8f", "\xf0\x9f\xa6",
                                      "\xed\x9f", "\xe0",     "\xed",     "\xf4"};
    static const char *const none[] = {"",
                                       "a",
                                       "\x80",
                                       "\xc0",
                                       "\xc3\xa9",
                                       "\xe0\x80",
                                       "\xed\xa0",
                                       "\xf4\x90",
                                       "\xf5",
                                       "\xe6"
                                       "a",
                                       "\xf0\x80",
                                       "\xf0\x9f"
                                       "a",
                                       "\xf0\x9f\xa6\x8a"};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
        assert_true(utf8_is_cut(cut[i], strlen(cut[i])));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(utf8_is_cut(none[i], strlen(none[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_four_bytes),
        cmocka_unit_test(damage_is_found_anywhere),
        cmocka_unit_test(beginnings_are_told_from_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
