/* The tokenizer against tests/golden/tokenizer_oracle.py, and its own promises. */
#include "tests/lib/test.h"
#include "tests/lib/tiny_text.h"

#include "model/base/rng.h"
#include "model/tokenizer/byte_text.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/word_cache.h"
#include "tests/lib/tokenizer_golden.h"

#include <openssl/evp.h>
#include <stdio.h>

static void expect_ids(const struct tokenizer *t, const char *text, size_t n, const json_t *ids,
                       int flags)
{
    struct ids got = {0};
    struct buf back = {0};
    assert_ok(tokenizer_encode(t, &got, text, n, flags));
    assert_int_equal(got.n, json_array_size(ids));
    for (size_t i = 0; i < got.n; i++)
        assert_int_equal(got.data[i], json_integer_value(json_array_get(ids, i)));
    assert_ok(tokenizer_decode(t, &back, got.data, got.n));
    assert_int_equal(back.n, n);
    assert_memory_equal(buf_text(&back), text, n);
    ids_release(&got);
    buf_release(&back);
}

static void equals_the_oracle(void **state)
{
    (void)state;
    struct tokenizer *plain = golden_tokenizer(GOLDEN "merges.txt");
    struct tokenizer *odd = golden_tokenizer(GOLDEN "odd_merges.txt");
    json_t *cases = golden_json(GOLDEN "cases.json"), *row;
    size_t i;
    json_array_foreach(cases, i, row)
    {
        const json_t *text = json_object_get(row, "text");
        const char *s = json_string_value(text);
        expect_ids(plain, s, json_string_length(text), json_object_get(row, "ids"), ENCODE_TEXT);
        expect_ids(odd, s, json_string_length(text), json_object_get(row, "odd"), ENCODE_TEXT);
    }
    json_decref(cases);
    tokenizer_free(plain);
    tokenizer_free(odd);
}

static void any_bytes_come_back(void **state)
{
    (void)state;
    struct tokenizer *t = golden_tokenizer(GOLDEN "merges.txt");
    struct ids ids = {0};
    struct buf back = {0};
    for (uint64_t i = 0; i < 3000; i++) {
        char text[300];
        size_t n = (size_t)(rng_uniform(2, i, 0) * (i % 10 == 0 ? sizeof text : 30));
        for (size_t k = 0; k < n; k++)
            text[k] = (char)(rng_uniform(2, i, k + 1) * (i % 3 == 0 ? 256 : 128));
        ids.n = back.n = 0;
        assert_ok(tokenizer_encode(t, &ids, text, n, i % 2 ? ENCODE_SPECIAL : ENCODE_TEXT));
        assert_ok(tokenizer_decode(t, &back, ids.data, ids.n));
        assert_int_equal(back.n, n);
        assert_memory_equal(buf_text(&back), text, n);
    }
    ids_release(&ids);
    buf_release(&back);
    tokenizer_free(t);
}

/* Printable bytes, three merges, two special tokens of which one begins the other, a hole. */
static struct tokenizer *small_tokenizer(void)
{
    static char single[95][2];
    const char *tokens[101];
    unsigned char special[101] = {0};
    for (int i = 0; i < 94; i++) {
        single[i][0] = (char)('!' + i);
        tokens[i] = single[i];
    }
    static const char *const more[] = {"ab",  "abab", "\xc4\xa0",     NULL,
                                       "<s>", "<s>>", "<|endoftext|>"};
    static const char *const merges[] = {"a b", "ab ab", "ab ab"};
    for (int i = 0; i < 7; i++) {
        tokens[94 + i] = more[i];
        special[94 + i] = i >= 4;
    }
    struct vocab v = {.n_tokens = 101,
                      .tokens = tokens,
                      .special = special,
                      .n_merges = 3,
                      .merges = merges,
                      .eos = 100};
    struct tokenizer *t = NULL;
    assert_ok(tokenizer_new(&t, &v));
    return t;
}

static void special_tokens_only_where_asked_for(void **state)
{
    (void)state;
    struct tokenizer *t = small_tokenizer();
    struct ids ids = {0};
    const char *text = "ab<s>ab<s>><<s";
    assert_ok(tokenizer_encode(t, &ids, text, strlen(text), ENCODE_SPECIAL));
    const token_id expected[] = {94, 98, 94, 99, '<' - '!', '<' - '!', 's' - '!'};
    assert_int_equal(ids.n, 7);
    assert_memory_equal(ids.data, expected, sizeof expected);
    ids.n = 0;
    assert_ok(tokenizer_encode(t, &ids, "<s>", 3, ENCODE_TEXT));
    assert_int_equal(ids.n, 3);
    assert_true(tokenizer_is_special(t, 98));
    assert_false(tokenizer_is_special(t, 94));
    assert_false(tokenizer_is_special(t, -1));
    assert_int_equal(tokenizer_eos(t), 100);
    ids_release(&ids);
    tokenizer_free(t);
}

static void what_cannot_be_said_is_refused(void **state)
{
    (void)state;
    struct tokenizer *t = small_tokenizer();
    struct ids ids = {0};
    static const struct {
        const char *text, *sentence;
    } rows[] = {
        {"ab \xc3\xa9t", "the vocabulary of 101 tokens lacks the character U+00E9 (\xc3\xa9)"},
        {"ab\n", "the vocabulary of 101 tokens lacks the character U+000A (\\x0a)"},
        {"x\xff", "the vocabulary of 101 tokens lacks the byte 0xFF"}};
    assert_ok(tokenizer_encode(t, &ids, "a", 1, ENCODE_TEXT));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(tokenizer_encode(t, &ids, rows[i].text, strlen(rows[i].text), 0),
                         ERR_RANGE);
        assert_string_equal(err_text(), rows[i].sentence);
        assert_int_equal(ids.n, 1);
    }
    assert_int_equal(tokenizer_encode(t, &ids, "\0", 1, 0), ERR_RANGE);
    ids_release(&ids);
    tokenizer_free(t);
}

/* Of a vocabulary of characters, those beyond ASCII are one token each; of their bytes there is
 * none, or not of all. */
static void characters_without_bytes_are_encoded(void **state)
{
    (void)state;
    static const char *const characters[] = {"a",   "\xc3\xa9",         " ",         "\xe2\x82\xac",
                                             "b",   "\xf0\x9f\x98\x80", "n\xc3\xa8", "\xc4\x87",
                                             "\xc3"};
    enum { N = sizeof characters / sizeof *characters };
    const char *tokens[N];
    struct buf signs[N] = {0}, back = {0};
    for (int i = 0; i < N; i++) {
        assert_ok(byte_text_encode(&signs[i], characters[i], strlen(characters[i])));
        tokens[i] = buf_text(&signs[i]);
    }
    static const unsigned char special[N] = {[7] = 1};
    struct vocab v = {.n_tokens = N, .tokens = tokens, .special = special, .eos = TOKEN_NONE};
    struct tokenizer *t = NULL;
    struct ids ids = {0};
    assert_ok(tokenizer_new(&t, &v));
    static const char text[] = "b\xc3\xa9\xc3\xa9 \xe2\x82\xac\xf0\x9f\x98\x80"
                               "a";
    static const token_id expected[] = {4, 1, 1, 2, 3, 5, 0};
    assert_ok(tokenizer_encode(t, &ids, text, sizeof text - 1, ENCODE_TEXT));
    assert_int_equal(ids.n, 7);
    assert_memory_equal(ids.data, expected, sizeof expected);
    assert_ok(tokenizer_decode(t, &back, ids.data, ids.n));
    assert_string_equal(buf_text(&back), text);
    static const struct {
        const char *text, *shown;
    } rows[] = {{"a\xc3\xa9\xc3\xa8", "character U+00E8 (\xc3\xa8)"},
                {"\xc3\xa9\xa9", "byte 0xA9"},
                {"\xc3\xaa", "character U+00EA (\xc3\xaa)"},
                {"a\xe2\x82", "byte 0xE2"},
                {"n\xc3\xa8", "character U+006E (n)"},
                {"\xc3\xa9z", "character U+007A (z)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char sentence[100];
        snprintf(sentence, sizeof sentence, "the vocabulary of %d tokens lacks the %s", N,
                 rows[i].shown);
        assert_fails(tokenizer_encode(t, &ids, rows[i].text, strlen(rows[i].text), ENCODE_TEXT),
                     ERR_RANGE, sentence);
        assert_int_equal(ids.n, 7);
    }
    for (int i = 0; i < N; i++)
        buf_release(&signs[i]);
    buf_release(&back);
    ids_release(&ids);
    tokenizer_free(t);
}

static void looks_up_texts_and_pieces(void **state)
{
    (void)state;
    struct tokenizer *t = small_tokenizer();
    struct buf b = {0};
    size_t n;
    assert_int_equal(tokenizer_size(t), 101);
    assert_int_equal(tokenizer_find(t, "abab", 4), 95);
    assert_int_equal(tokenizer_find(t, "\xc4\xa0", 2), 96);
    assert_int_equal(tokenizer_find(t, " ", 1), TOKEN_NONE);
    assert_int_equal(tokenizer_find(t, "<s>>", 4), 99);
    assert_int_equal(tokenizer_find(t, "", 0), TOKEN_NONE);
    assert_memory_equal(tokenizer_bytes(t, 96, &n), " ", 1);
    assert_null(tokenizer_bytes(t, 97, &n));
    assert_null(tokenizer_bytes(t, 101, &n));
    assert_int_equal(n, 0);
    assert_null(tokenizer_text(t, 97));
    assert_string_equal(tokenizer_text(t, 96), "\xc4\xa0");
    assert_int_equal(tokenizer_merges(t), 3);
    assert_string_equal(tokenizer_merge(t, 1), "ab ab");
    assert_null(tokenizer_merge(t, 3));
    const token_id ids[] = {95, 97, -5, 1000, 96, 98};
    assert_ok(tokenizer_decode(t, &b, ids, 6));
    assert_string_equal(buf_text(&b), "abab <s>");
    buf_release(&b);
    tokenizer_free(t);
}

static void bad_vocabularies_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *tokens[4], *merge, *sentence;
    } rows[] = {
        {{"a", "b", "a"}, NULL, "token 2 \"a\" stands for the same bytes as another token"},
        {{"a", ""}, NULL, "token 1 \"\" has no text"},
        {{"a b"}, NULL, "token 0 \"a b\" is not in GPT-2's byte alphabet"},
        {{"\xe6\xb5\xb7"}, NULL, "token 0 \"\xe6\xb5\xb7\" is not in GPT-2's byte alphabet"},
        {{"\x1b[2J"}, NULL, "token 0 \"\\x1b[2J\" is not in GPT-2's byte alphabet"},
        {{"a", "b", "ab"}, "a", "merge 0 \"a\" is not two texts with a space between"},
        {{"a", "b", "ab"}, " b", "merge 0 \" b\" is not two texts with a space between"},
        {{"a", "b", "ab"}, "a ", "merge 0 \"a \" is not two texts with a space between"},
        {{"a", "b", "ab"}, "a b b", "merge 0 \"a b b\" is not two texts with a space between"},
        {{"a", "b", "ab"}, "a c", "merge 0 \"a c\" joins what is not a token"},
        {{"a", "b", "ab"}, "b a", "merge 0 \"b a\" makes what is not a token"},
        {{"a", "b", "ab"}, "a \xff", "merge 0 \"a \\xff\" is not in GPT-2's byte alphabet"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int n = 0;
        while (n < 4 && rows[i].tokens[n] != NULL)
            n++;
        struct vocab v = {.n_tokens = n,
                          .tokens = rows[i].tokens,
                          .n_merges = rows[i].merge != NULL,
                          .merges = &rows[i].merge,
                          .eos = TOKEN_NONE};
        struct tokenizer *t = NULL;
        assert_int_equal(tokenizer_new(&t, &v), ERR_FORMAT);
        assert_string_equal(err_text(), rows[i].sentence);
        assert_null(t);
    }
}

/* Words need no memory of their own; a long one takes its scratch once. */
static void allocates_per_call_only(void **state)
{
    (void)state;
    struct tokenizer *t = golden_tokenizer(GOLDEN "merges.txt");
    struct ids ids = {0};
    struct buf text = {0};
    for (int i = 0; i < 2000; i++)
        assert_ok(buf_printf(&text, "the sea number%d 'tis\n", i));
    assert_ok(tokenizer_encode(t, &ids, text.data, text.n, ENCODE_TEXT));
    ids.n = 0;
    uint64_t before = mem_count();
    assert_ok(tokenizer_encode(t, &ids, text.data, text.n, ENCODE_TEXT));
    assert_int_equal(mem_count() - before, 0);
    ids_release(&ids);
    buf_release(&text);
    tokenizer_free(t);
}

/* Words of 1 to 20 bytes, some of which come again, and more than there are places: with the cache
 * and without it the ids are the same. */
static void a_cache_of_words_changes_no_id(void **state)
{
    (void)state;
    struct tokenizer *t = golden_tokenizer(GOLDEN "merges.txt");
    struct word_cache cache = {0};
    struct ids want = {0}, got = {0};
    struct buf text = {0};
    for (uint64_t i = 0; i < 3000; i++) {
        text.n = want.n = got.n = 0;
        for (uint64_t k = 0; k < 20; k++) {
            const int n = 1 + (int)(rng_uniform(7, i, 2 * k) * 20);
            for (int c = 0; c < n; c++)
                assert_ok(
                    buf_char(&text, "ehit"[(int)(rng_uniform(8 + k, i, c) * (n > 8 ? 4 : 2))]));
            assert_ok(buf_char(&text, ' '));
        }
        assert_ok(tokenizer_encode(t, &want, text.data, text.n, ENCODE_TEXT));
        assert_ok(tokenizer_encode_much(t, &cache, &got, text.data, text.n, ENCODE_TEXT));
        assert_int_equal(got.n, want.n);
        assert_memory_equal(got.data, want.data, got.n * sizeof *got.data);
    }
    word_cache_release(&cache);
    ids_release(&want);
    ids_release(&got);
    buf_release(&text);
    tokenizer_free(t);
}

static void survives_without_memory(void **state)
{
    (void)state;
    struct tokenizer *whole = golden_tokenizer(GOLDEN "merges.txt");
    char text[600];
    memset(text, 'a', sizeof text);
    int failures = 0;
    uint64_t k = 1;
    for (;; k++) {
        struct ids ids = {0};
        mem_fail_at(k);
        int rc = tokenizer_encode(whole, &ids, text, sizeof text, ENCODE_SPECIAL);
        mem_fail_at(0);
        assert_int_equal(ids.n == 0, rc != 0);
        ids_release(&ids);
        if (rc == 0)
            break;
        assert_int_equal(rc, ERR_NOMEM);
        failures++;
    }
    assert_true(k > 3);
    assert_true(failures > 3);
    const char *tokens[] = {"a", "b", "ab", "<s>"};
    const char *merges[] = {"a b"};
    unsigned char special[] = {0, 0, 0, 1};
    struct vocab v = {.n_tokens = 4,
                      .tokens = tokens,
                      .special = special,
                      .n_merges = 1,
                      .merges = merges,
                      .eos = TOKEN_NONE};
    k = 1;
    for (;; k++) {
        struct tokenizer *t = NULL;
        mem_fail_at(k);
        int rc = tokenizer_new(&t, &v);
        mem_fail_at(0);
        assert_int_equal(t == NULL, rc != 0);
        tokenizer_free(t);
        if (rc == 0)
            break;
        assert_int_equal(rc, ERR_NOMEM);
    }
    assert_true(k > 3);
    tokenizer_free(whole);
}

static struct tokenizer *gpt2(const char *data)
{
    char path[4096];
    struct tokenizer *t = NULL;
    snprintf(path, sizeof path, "%s/tokenizer", data);
    assert_ok(vocab_open_folder(&t, path, NULL, NULL));
    assert_non_null(t);
    return t;
}

static void equals_goldens_with_data(void **state)
{
    (void)state;
    const char *data = golden_data("GPT-2's vocabulary on llama.cpp's goldens");
    if (data == NULL)
        return;
    char path[4096];
    struct tokenizer *t = gpt2(data);
    snprintf(path, sizeof path, "%s/tokenizer/goldens.json", data);
    json_t *cases = golden_json(path), *row;
    size_t i;
    assert_int_equal(json_array_size(cases), 47);
    json_array_foreach(cases, i, row)
    {
        const json_t *text = json_object_get(row, "text");
        expect_ids(t, json_string_value(text), json_string_length(text),
                   json_object_get(row, "ids"), ENCODE_TEXT);
    }
    json_decref(cases);
    assert_int_equal(tokenizer_eos(t), 50256);
    tokenizer_free(t);
}

static void expect_digest(const struct ids *ids, const json_t *row)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    char hex[65];
    assert_int_equal(ids->n, json_integer_value(json_object_get(row, "n")));
    EVP_Digest(ids->data, ids->n * sizeof *ids->data, hash, NULL, EVP_sha256(), NULL);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    assert_string_equal(hex, json_string_value(json_object_get(row, "sha256")));
}

static void equals_the_oracle_on_long_texts_with_data(void **state)
{
    (void)state;
    const char *data = golden_data("GPT-2's vocabulary on wiki.test.raw, Shakespeare and novels");
    if (data == NULL)
        return;
    struct tokenizer *t = gpt2(data);
    json_t *rows = golden_json(GOLDEN "data.json"), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        struct buf text = {0}, back = {0};
        struct ids ids = {0};
        const char *name = json_string_value(json_object_get(row, "file"));
        char command[4096];
        snprintf(command, sizeof command, "%s '%s/%s'", strstr(name, ".xz") ? "xz -dc" : "cat",
                 data, name);
        FILE *f = popen(command, "r");
        assert_non_null(f);
        assert_ok(file_read_fd(&text, fileno(f)));
        if (pclose(f) != 0)
            fail_msg("%s failed: is xz-utils installed?", command);
        assert_ok(tokenizer_encode(t, &ids, text.data, text.n, ENCODE_TEXT));
        expect_digest(&ids, row);
        assert_ok(tokenizer_decode(t, &back, ids.data, ids.n));
        assert_int_equal(back.n, text.n);
        assert_memory_equal(back.data, text.data, text.n);
        buf_release(&text);
        buf_release(&back);
        ids_release(&ids);
    }
    json_decref(rows);
    tokenizer_free(t);
}

/* Ids that another program wrote, end-of-text tokens among them: the same text, the same
 * ids again. */
static void equals_tinystories_ids_with_data(void **state)
{
    (void)state;
    const char *data = golden_data("GPT-2's vocabulary on nanoGPT's TinyStories ids");
    if (data == NULL)
        return;
    char path[4096];
    struct buf file = {0}, text = {0};
    struct ids ids = {0}, again = {0};
    struct tokenizer *t = gpt2(data);
    snprintf(path, sizeof path, "%s/nanogpt/tinystories_val.bin", data);
    assert_ok(file_read_all(&file, path, 1 << 24));
    for (size_t i = 0; i + 1 < file.n; i += 2) {
        token_id id = (unsigned char)file.data[i] | (unsigned char)file.data[i + 1] << 8;
        assert_ok(ids_add(&ids, &id, 1));
    }
    assert_int_equal(ids.n, 622159);
    assert_ok(tokenizer_decode(t, &text, ids.data, ids.n));
    assert_ok(tokenizer_encode(t, &again, text.data, text.n, ENCODE_SPECIAL));
    assert_int_equal(again.n, ids.n);
    assert_memory_equal(again.data, ids.data, ids.n * sizeof *ids.data);
    buf_release(&file);
    buf_release(&text);
    ids_release(&ids);
    ids_release(&again);
    tokenizer_free(t);
}

static void tokenizers_are_compared(void **state)
{
    (void)state;
    struct tokenizer *a = tiny_tokenizer(), *b = tiny_tokenizer(), *c = tiny_tokenizer_with(true);
    assert_true(tokenizer_same(a, a));
    assert_true(tokenizer_same(a, b));
    assert_false(tokenizer_same(a, c));
    assert_false(tokenizer_same(a, NULL));
    assert_false(tokenizer_same(NULL, NULL));
    tokenizer_free(b);
    /* Two tokens, or two merges, in each other's place. */
    static const char *const tokens[] = {"a", "b", "ab", "ba"}, *const turned[] = {"b", "a", "ab",
                                                                                   "ba"};
    static const char *const merges[] = {"a b", "b a"}, *const later[] = {"b a", "a b"};
    struct vocab v = {.n_tokens = 4, .tokens = tokens, .n_merges = 2, .merges = merges, .eos = -1};
    tokenizer_free(a);
    assert_ok(tokenizer_new(&a, &v));
    v.merges = later;
    assert_ok(tokenizer_new(&b, &v));
    assert_false(tokenizer_same(a, b));
    tokenizer_free(b);
    v.merges = merges;
    v.tokens = turned;
    assert_ok(tokenizer_new(&b, &v));
    assert_false(tokenizer_same(a, b));
    tokenizer_free(a);
    tokenizer_free(b);
    tokenizer_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tokenizers_are_compared),
                                       cmocka_unit_test(equals_the_oracle),
                                       cmocka_unit_test(any_bytes_come_back),
                                       cmocka_unit_test(special_tokens_only_where_asked_for),
                                       cmocka_unit_test(what_cannot_be_said_is_refused),
                                       cmocka_unit_test(characters_without_bytes_are_encoded),
                                       cmocka_unit_test(looks_up_texts_and_pieces),
                                       cmocka_unit_test(bad_vocabularies_are_refused),
                                       cmocka_unit_test(allocates_per_call_only),
                                       cmocka_unit_test(a_cache_of_words_changes_no_id),
                                       cmocka_unit_test(survives_without_memory),
                                       cmocka_unit_test(equals_goldens_with_data),
                                       cmocka_unit_test(equals_the_oracle_on_long_texts_with_data),
                                       cmocka_unit_test(equals_tinystories_ids_with_data)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
