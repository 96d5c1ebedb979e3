/* Tokens as a person reads them: every one can be told from any other. */
#include "repl/terminal/token_text.h"

#include "tests/lib/test.h"

/* A tokenizer of byte-level BPE with these texts, in the alphabet of its files. */
static struct tokenizer *tokenizer_of(const char *const *texts, int n)
{
    const struct vocab v = {.n_tokens = n, .tokens = texts, .eos = TOKEN_NONE};
    struct tokenizer *t = NULL;
    assert_ok(tokenizer_new(&t, &v));
    return t;
}

static void a_token_is_shown_so_that_it_can_be_read(void **state)
{
    (void)state;
    static const struct {
        const char *in_file, *shown;
    } cases[] = {{"\u0120name", "\" name\""},
                 {"\u0120", "\" \""},
                 {"\u0120\u0120", "\" \"x2"},
                 {"\u0120\u0120\u0120\u0120\u0120\u0120\u0120\u0120\u0120\u0120\u0120", "\" \"x11"},
                 {"\u0120\u0120a", "\"  a\""},
                 {"\u0120\"", "\" \\\"\""},
                 {"\"", "\"\\\"\""},
                 {"\\", "\"\\\\\""},
                 {"\\n", "\"\\\\n\""},
                 {"\u010a", "\"\\n\""},
                 {"\u010a\u010a\u0120", "\"\\n\\n \""},
                 {"\u0109", "\"\\t\""},
                 {"\u010d\u010a", "\"\\r\\n\""},
                 {"\u00c2\u0142", "\"\\u00a0\""}, /* U+00A0 */
                 {"a\u00c2\u0142", "\"a\\u00a0\""},
                 {"\u00e3\u0122\u0122", "\"\\u3000\""}, /* U+3000 */
                 {"\u00e2\u0122\u012d", "\"\\u200b\""}, /* U+200B */
                 {"\u00c3\u00a9", "\"\u00e9\""},        /* U+00E9 */
                 {"\u00e2", "\"\\xe2\""}};
    enum { N = sizeof cases / sizeof *cases };
    const char *texts[N];
    for (int i = 0; i < N; i++)
        texts[i] = cases[i].in_file;
    struct tokenizer *t = tokenizer_of(texts, N);
    for (int i = 0; i < N; i++) {
        struct buf b = {0};
        assert_ok(token_text_quote(&b, t, i));
        assert_string_equal(buf_text(&b), cases[i].shown);
        buf_release(&b);
    }
    struct buf b = {0};
    assert_ok(token_text_quote(&b, NULL, 7));
    assert_string_equal(buf_text(&b), "7");
    buf_release(&b);
    tokenizer_free(t);
}

static void the_last_words_are_shown_as_tokens_are(void **state)
{
    (void)state;
    static const char *const texts[] = {"\"", "\u0120", "He", "\u010a"};
    static const token_id ids[] = {0, 2, 1, 1, 3, 0};
    struct tokenizer *t = tokenizer_of(texts, 4);
    struct buf b = {0};
    assert_ok(token_text_last(&b, t, ids, 6, 40));
    assert_string_equal(buf_text(&b), "\"\\\"He  \\n\\\"\"");
    buf_release(&b);
    tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_shown_so_that_it_can_be_read),
        cmocka_unit_test(the_last_words_are_shown_as_tokens_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
